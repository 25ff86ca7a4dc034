"""Document 000: tool calls of a Kode back end answered line by line.

An agent's events as its message stream.

Modules, in the order data meets them:

    event_messages.py
    stdio_server.py
"""
