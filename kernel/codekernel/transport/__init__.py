"""How lines and connections reach the process.

Stdin and stdout, an in-memory channel, and the HTTP listener on loopback.

Modules, in the order data meets them:

    descriptors.py
    lines.py
    channels.py
    http_messages.py
    connections.py
    listener.py
"""
