"""The Model Context Protocol: search, files and call chains of one repository.

Modules, in the order data meets them:

    symbols_tool.py  the tool ``symbols``
    tools.py         all tools
    resources.py     files and the index status as resources
    server.py        the SDK's server, over stdin and stdout
    http_server.py   the same over HTTP
"""
