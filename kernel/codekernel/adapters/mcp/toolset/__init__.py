"""The tools of the MCP server.

Modules, in the order data meets them:

    search.py   search, also for code like a place; the state of the index; how much text fits
    files.py    the tree, files by a glob, a file with line numbers, lines by text
    calls.py    callers, callees, impact; outlines and definitions; the commits behind lines
    ask.py      a question to the chat model
"""
