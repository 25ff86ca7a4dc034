"""The SQLite databases of an index: the catalog of files and chunks, and the call facts.

Modules, in the order data meets them:

    tables.py          tables of the catalog, and what is checked when it is opened
    writer.py          its one connection that writes, in batches
    rows.py            connections, rows and values; what readers have cached
    catalog.py         queries of the catalog
    catalog_copy.py    a copy of a catalog for another machine
    call_database.py   tables of the call facts; their checksums and damage
    call_store.py      writing and reading the call facts
"""
