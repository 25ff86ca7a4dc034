"""The SQLite databases of an index.

The catalog of files and chunks, and the call facts derived from it.

Modules, in the order data meets them:

    schema.py
    cache.py
    catalog.py
    writer.py
    call_database.py
    call_store.py
"""
