"""The vectors of a repository under one embedding config.

Modules, in the order data meets them:

    in_memory_vectors.py   quantization; blocks of vectors in memory; nearest-neighbour search
    lancedb_import.py      LanceDB without what nobody uses
    lance_rows.py          the rows on disk
    lance_worker.py        the process in which LanceDB writes and reads them
    lance_process.py       starts it, and hands it one step after another
    lance_table.py         an open table and the fingerprints of its rows
    vector_table.py        both together: open, add, search, compact, repair
    snapshot_files.py      where snapshots lie, and whether they are quick to read
    vector_snapshot.py     the vectors in a file that is read without LanceDB
    vector_seed.py         vectors that came from elsewhere, before there is a table
    vector_examination.py  examine and repair a table
    shared_vectors.py      vectors by the hash of their text, for all indexes of a userData folder
"""

# Of the file beside the folder of a table.
SNAPSHOT_SUFFIX = ".snapshot"

# Of the file beside it that holds all vectors until there is a table.
SEED_SUFFIX = ".seed"

# Of the database that all indexes share.
SHARED_VECTORS_SUFFIX = ".db"
