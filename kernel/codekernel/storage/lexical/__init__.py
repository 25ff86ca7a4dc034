"""The lexical (BM25) index of the chunks of a repository, kept by tantivy.

Modules, in the order data meets them:

    schema.py          fields, analyzer and queries
    lexical_index.py   open, write, search, verify
"""
