"""Hybrid code search: parse -> retrieve -> fuse -> boost -> group -> rerank -> select -> present.

Modules, in the order data meets them:

    pipeline.py           the conductor: one function per step, and the Searcher of a repository
    query_parser.py       syntax of a query (filters, exact strings, regex), its kind and terms
    query_recognizers.py  file mentions, error messages and stack traces in a query
    chinese_glossary.py   Chinese programming terms in English (glossary.txt)
    stopwords.py          stop words and the stemmer
    filters.py            lang: path: file: symbol:, and errors for values that nothing has
    retrieval.py          lexical, semantic and mentioned candidates
    text_scan.py          chunks that contain exact strings or match a regex
    safe_regex.py         regexes that cannot run for ever
    file_kinds.py         tests, examples, documentation, data: the kind of a path
    boosts.py             boosts by defined names, paths and mentions
    ranking.py            fusion, boosts, grouping by file, semantic refinement
    reranking.py          the scores of a reranker, blended in
    highlight.py          the words of a query in a text
    presentation.py       hits as results of the protocol
    git_history.py        commits of a repository, read without its git configuration
    evaluation.py         questions mined from commits, NDCG, recall, MRR
"""
