"""The Model Context Protocol: search, files and calls of repositories.

Modules, in the order data meets them:

    protocol.py       versions of the protocol, checks, the form of replies
    server.py         answers one client, over any transport; one that sends lines
    toolset/          the tools, one module for each
    tools.py          the tools of one repository
    repositories.py   which repositories a call is about
    roots.py          the folders that a client works in
    methods.py        tools, files and the index status, as the protocol has them
    attached.py       a client of the kernel
    kernel_client.py  the other end: a process that serves others with what the kernel answers
    http_server.py    serves them over HTTP
"""
