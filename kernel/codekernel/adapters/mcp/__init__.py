"""The Model Context Protocol: search, files and call chains of one repository.

Modules, in the order data meets them:

    protocol.py       versions of the protocol, checks, the form of replies
    server.py         answers one client, over any transport; one that sends lines
    toolset/          the tools, one module for each
    tools.py          the tools of one repository
    methods.py        tools, files and the index status, as the protocol has them
    attached.py       a client of the kernel
    kernel_client.py  the other end: a process that serves others with what the kernel answers
    http_server.py    serves them over HTTP
"""
