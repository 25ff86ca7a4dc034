"""The Model Context Protocol: search, files and call chains of one repository.

Modules, in the order data meets them:

    tools.py        the tools
    server.py       the SDK's server over stdin and stdout; files and the index status as resources
    http_server.py  the same over HTTP
    attached.py     the same for a client of the shared kernel
"""
