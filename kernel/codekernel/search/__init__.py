"""Hybrid code search: parse -> retrieve -> fuse -> boost -> group -> rerank -> select -> present.

Modules, in the order data meets them:

    pipeline.py           the conductor: one function per step, and the Searcher of a repository
    query_syntax.py       filters, exact strings, regex; errors, stack traces
    file_mentions.py      files and lines that a query mentions
    long_query.py         a pasted report -> the questions it is made of
    file_kinds.py         code, test, example, documentation or data, by the path
    filters.py            lang: path: file: kind: symbol: scope: repo:, and values that nothing has
    word_forms.py         stems that unite word forms, short forms (word_forms.txt) and compounds
    chinese.py            Chinese words in English (chinese_words.txt, learned; glossary.txt)
    query_parser.py       kind and terms of a query; stop words
    searchable.py         what a search needs of an index, as protocols
    retrieval.py          lexical, semantic and mentioned candidates
    text_scan.py          chunks that contain exact strings or match a regex
    safe_regex.py         regexes that cannot run for ever
    boosts.py             boosts by defined names, paths and mentions; kinds of file lowered
    phrase_match.py       chunks in which words of the query stand word for word
    ranking.py            fusion, grouping by file, a reranker's evidence
    learned_ranking.py    trees that read the signals of files (learned_ranking.json)
    ranking_weights.py    how much each signal counts in one repository, if that was learned
    reranking.py          the best chunk of each of the first files, read by the selected model
    remote_reranking.py   rerankers behind addresses, and what they may be sent
    scopes.py             packages of a repository by their manifests
    facets.py             what hits have in common, counted
    name_finder.py        files and symbols by a part of their name
    related.py            code like a place
    federation.py         one ranking of several repositories
    merged_index.py       several indexes as one
    highlight.py          hits as results of the protocol, with the words of the query marked
    git_history.py        commits of a repository, read without its git configuration
    line_history.py       the commits behind lines of a file
    evaluation.py         questions mined from commits, NDCG, recall, MRR
    tuning.py             weights learned from those questions
"""
