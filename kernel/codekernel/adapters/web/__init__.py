"""The web host: static pages over HTTP and `window.kernel` over a WebSocket, on loopback only.

Modules, in the order data meets them:

    authentication.py
    pages.py
    server.py
    kernel_client.py
    sessions.py
    outbox.py
    editors.py
    page_calls.py
    web_client.py
    threads.py
"""
