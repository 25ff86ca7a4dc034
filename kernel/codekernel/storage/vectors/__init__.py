"""The vectors of a repository under one embedding config.

Modules, in the order data meets them:

    in_memory_vectors.py   quantization; blocks of vectors in memory; nearest-neighbour search
    lance_table.py         the rows on disk and their fingerprints
    vector_table.py        both together: open, add, search, compact, repair
    snapshot_files.py      where snapshots lie, and whether they are quick to read
    vector_snapshot.py     the vectors in a file that is read without LanceDB
    sibling_vectors.py     vectors of the same texts under other indexes
"""

# Of the file beside the folder of a table.
SNAPSHOT_SUFFIX = ".snapshot"
