"""The call graph: facts extracted per file with tree-sitter queries, stored in calls.db.

Resolved when a question is asked.

Modules, in the order data meets them:

    language_spec.py
    static_languages.py
    languages.py
    expressions.py
    definitions.py
    fact_extractor.py
    fact_indexer.py
    fact_cache.py
    symbol_table.py
    call_edges.py
    call_resolver.py
    graph.py
"""
