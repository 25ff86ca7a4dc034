"""The SQLite databases of an index: the catalog of files and chunks, and the call facts.

Modules, in the order data meets them:

    schema.py          tables of the catalog; rows and values
    writer.py          batches of changes to the catalog
    cache.py           rows and texts that readers have cached
    catalog.py         queries of the catalog
    call_database.py   tables of the call facts; their checksums
    call_store.py      writing and reading the call facts
"""
