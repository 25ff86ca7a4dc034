"""Everything kept on disk under userData.

Modules, in the order data meets them:

    user_data.py            paths of the userData folder; private folders and files
    os_errors.py            errors of the operating system explained
    quarantine.py           renaming what cannot be used
    safe_files.py           atomic writes; reading regular files only
    file_locks.py           locks between processes
    engine_errors.py        errors of SQLite, tantivy and LanceDB translated
    sqlite_files.py         connections and transactions of SQLite
    page_checksums.py       checksums of the pages of a database; its write-ahead log
    vault/                  the encrypted database of API keys, repositories and usage
    catalog/                the databases of files, chunks and calls
    lexical/                the BM25 index
    vectors/                the vectors of an embedding model
    index_store.py          the index of one repository: open, verify, close
    index_examination.py    the same from outside, for `codekernel doctor`
    conversation_files.py   conversation histories, turn journals and their mirror
"""
