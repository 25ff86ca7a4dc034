"""The vectors of a repository under one embedding config.

Modules, in the order data meets them:

    quantization.py        normalizing vectors; five bits per number
    in_memory_vectors.py   blocks of vectors in memory; nearest-neighbour search
    lance_table.py         the rows on disk and their fingerprints
    vector_table.py        both together: open, add, search, compact, repair
"""
