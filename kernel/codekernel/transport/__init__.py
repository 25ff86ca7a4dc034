"""How lines and connections reach the process.

Modules, in the order data meets them:

    descriptors.py     claims stdin and stdout
    lines.py           bytes -> lines with a maximum length, and the channels that carry them
    local_endpoint.py  where programs of one account share a kernel: which path, which transport
    runtime_folders.py  its path where userData cannot hold a socket
    unix_socket.py     the endpoint as a Unix socket
    named_pipe_windows.py  the endpoint as a named pipe
    windows_api.py     what that needs of Windows
    connections.py     connections that are not trusted yet
    http_messages.py   HTTP heads, bodies and responses
    listener.py        the HTTP listener on loopback
"""
