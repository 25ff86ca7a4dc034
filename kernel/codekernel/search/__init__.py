"""Hybrid code search: parse a query, retrieve lexical and semantic candidates.

Fuse and boost their scores, rerank, select, highlight.

Modules, in the order data meets them:

    query_parser.py
    query_recognizers.py
    chinese_glossary.py
    stopwords.py
    filters.py
    pipeline.py
    ranking.py
    boosts.py
    text_scan.py
    safe_regex.py
    highlight.py
    git_history.py
    evaluation.py
"""
