"""From the text of a file to chunks that follow its syntax; nothing here reads a repository.

Modules, in the order data meets them:

    chunker.py    text and chunk sizes -> spans of lines -> labelled chunks, hashed
    outline.py    the outline: a boundary level per line, and definitions; headings, plain text
    outliner.py   the outline of code and notebooks, from their syntax tree
    grammar.py    tree-sitter parsers and queries; which nodes are definitions (grammars/*.toml)
"""
