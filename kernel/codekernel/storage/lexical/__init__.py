"""The lexical (BM25) index of the chunks of a repository, kept by tantivy.

Modules, in the order data meets them:

    schema.py
    lexical_index.py
"""
