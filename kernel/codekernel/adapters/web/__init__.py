"""The web host: static pages over HTTP and `window.kernel` over a WebSocket, on loopback only.

Modules, in the order data meets them:

    page_api.py         what a page may call, and the tables shared with the Electron host
    authentication.py   one-time token, page secret and cookie of a browser; Host and Origin
    versioned_pages.py  addresses that a browser keeps, and the modules of a page
    server.py           the port: pages with their headers, WebSockets, one client per tab
    web_client.py       one tab: its calls and conversations
    host_calls.py       calls that are carried out here: settings, keys, host info, the editor
    sessions.py         the repository session of each tab, through crashes and reloads
    kernel_client.py    requests to the kernel of this process, and their replies; threads
    outbox.py           what is sent to a tab: messages, coalesced statuses, conversation parts
"""
