"""How lines and connections reach the process.

Modules, in the order data meets them:

    descriptors.py     claims stdin and stdout
    lines.py           bytes -> lines with a maximum length
    channels.py        the channels over stdio and in memory
    local_endpoint.py  the socket by which programs of one account share a kernel
    connections.py     connections that are not trusted yet
    http_messages.py   HTTP heads and responses
    listener.py        the HTTP listener on loopback
"""
