"""The Model Context Protocol: search, files and call chains of one repository.

Modules, in the order data meets them:

    tools.py          the tools
    server.py         the SDK's server; files and the index status as resources
    attached.py       the same for a client of the kernel
    kernel_client.py  a client of it
    forwarding.py     a server whose requests the one in the kernel answers
    http_server.py    the same over HTTP
"""
