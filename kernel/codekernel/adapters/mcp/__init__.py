"""The Model Context Protocol server.

Search, files and call chains of one repository as tools and resources.

Modules, in the order data meets them:

    symbols_tool.py
    tools.py
    resources.py
    server.py
    http_server.py
"""
