"""Document 002: IDE tools over WebSockets, both ends.

Modules, in the order data meets them:

    messages.py  TOOL_CALL and TOOL_RESULT
    executor.py  execute calls concurrently, with a timeout
    port.py      a WebSocket port with a token
    plugin.py    the end that executes calls
    backend.py   the end that makes calls
"""
