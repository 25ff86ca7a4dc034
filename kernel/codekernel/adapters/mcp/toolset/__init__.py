"""The tools of the MCP server, one module for each.

Modules, in the order data meets them:

    budget.py   how much text fits into an answer
    search.py   search, also for code like a place
    read.py     a file with line numbers
    files.py    the tree, or files by a glob
    grep.py     lines by text or regular expression
    symbols.py  outlines and definitions
    calls.py    callers, callees, and what a change reaches
    history.py  the commits behind lines
    ask.py      a question to the chat model
    status.py   the state of the index
"""
