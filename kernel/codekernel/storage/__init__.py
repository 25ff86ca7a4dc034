"""Everything kept on disk under userData.

Modules, in the order data meets them:

    safe_files.py           private, atomic and regular files; errors of the operating system
    quarantine.py           renaming what cannot be used
    user_data_folder.py     where the userData folder is; who may read it
    user_data.py            paths of the files in it
    process_lock.py         locks between processes
    engines.py              errors of SQLite, tantivy and LanceDB; connections to SQLite
    page_checksums.py       checksums of the pages of a database; its write-ahead log
    vault/                  the encrypted database of API keys, repositories and usage
    catalog/                the databases of files, chunks and calls
    term_counts.py          how rare terms are
    lexical_documents.py    what the BM25 index keeps of a chunk: stems, fields and their weights
    recent_words.py         the words of chunks that were just saved, in memory
    lexical_index.py        the BM25 index
    vectors/                the vectors of an embedding model
    base/                   the table of many repositories in a team's store
    index_store.py          the index of one repository: open, verify, close
    vector_sweep.py         deletes shared vectors that no index uses
    index_examination.py    the same from outside, for `codekernel doctor`
    conversation_files.py   conversation histories, turn journals and their mirror
"""
