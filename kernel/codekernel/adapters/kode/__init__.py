"""Document 000: the tool calls of a Kode backend, and an agent's events as its messages.

Modules, in the order data meets them:

    event_messages.py  the messages, and the stream of an agent's events
    stdio_server.py    tool calls answered line by line
"""
