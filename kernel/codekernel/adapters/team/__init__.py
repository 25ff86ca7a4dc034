"""``codekernel serve --team``: a kernel that many people and agents search over HTTP.

Who may not read a path gets no hit, no count, no snippet and no name of it: rights are applied to
the candidates of a search, before anything is ranked.

Modules, in the order data meets them:

    rights.py        who may read which repositories and paths
    tokens.py        static tokens, of which only hashes are kept
    callers.py       a bearer token, also of a provider -> a person; how often each may ask
    queries.py       the open repositories; search, files, read and grep as one person may
    tools.py         the same as tools of MCP
    requests.py      who asks, how often, and what is kept of it
    sockets.py       the kernel's own protocol over a WebSocket
    app.py           the routes of HTTP
"""
