"""Document 002: IDE tools over WebSockets, both ends.

The plugin that executes calls and the backend that makes them.

Modules, in the order data meets them:

    messages.py
    executor.py
    port.py
    plugin.py
    backend.py
"""
