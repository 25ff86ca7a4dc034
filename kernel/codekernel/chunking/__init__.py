"""From the text of a file to chunks that follow its syntax; nothing here reads a repository.

Modules, in the order data meets them:

    chunker.py            chunk_text: text and chunk sizes -> labelled chunks
    outliner.py           text -> outline, by grammar, headings or indentation
    grammar.py            which nodes are definitions, from grammars/*.toml
    parsers.py            tree-sitter parsers with a timeout
    document_outline.py   Markdown, reStructuredText, notebooks, plain text
    outline.py            the outline: a boundary level per line, and definitions
    chunk_boundaries.py   outline and chunk size -> spans of lines
    tree_query.py         tree-sitter queries for the call graph
"""
