"""The embedding vectors of a repository: stored by LanceDB, quantized and searched in memory.

Modules, in the order data meets them:

    quantization.py
    in_memory_vectors.py
    lance_table.py
    vector_table.py
"""
