"""Keep the index of a repository in step with its files.

Scan, chunk, write the lexical index and the catalog, embed.

Modules, in the order data meets them:

    index_plan.py
    progress.py
    battery.py
    chunk_worker.py
    chunk_pool.py
    index_writer.py
    indexer.py
    embed_worker.py
    model_vector_index.py
    index_worker.py
    index_runtime.py
    repository_index.py
"""
