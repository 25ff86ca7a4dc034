"""The call graph: facts extracted per file with tree-sitter queries, stored in calls.db.

Resolved when a question is asked.

Modules, in the order data meets them:

    languages.py        what the queries, imports and receivers of each language look like
    definitions.py      query matches -> definitions and their scopes
    expressions.py      types and receivers inferred from source text
    fact_extractor.py   one file -> CallFacts
    fact_indexer.py     keeps calls.db up to date, in worker processes
    fact_cache.py       cached lookups in calls.db, imported modules -> files
    symbol_table.py     names -> definitions
    call_resolver.py    a call -> the definitions it may reach
    call_edges.py       callers and callees of a definition
    graph.py            a question -> call chains
    test_ranking.py     what a change reaches, and the tests that it may break
"""
