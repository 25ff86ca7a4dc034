"""Adapters for foreign protocols.

Each translates one client protocol into calls of the kernel, the agent or an indexed
repository.

Modules, in the order data meets them:

    websocket_server.py
    indexed_repository.py
    tricode.py
"""
