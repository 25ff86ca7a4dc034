"""Document 002: IDE tools over WebSockets, both ends.

Modules, in the order data meets them:

    tool_calls.py  TOOL_CALL and TOOL_RESULT, and calls executed concurrently, with a timeout
    plugin.py      the end that executes calls, and a WebSocket port with a token
    backend.py     the end that makes calls
"""
