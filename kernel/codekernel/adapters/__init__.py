"""Adapters for foreign protocols, which call the kernel, the agent or an indexed repository.

Modules, in the order data meets them:

    websocket_server.py    WebSocket connections on our own listener
    indexed_repository.py  a folder with its index and call graph
    static_pages.py        the files of the pages
    web/                   the pages in a browser
    mcp/                   the Model Context Protocol
    agent_config/          config files of coding agents that are to use it
    ide/                   document 002: IDE tools over WebSockets
    kode/                  document 000: a Kode backend, by lines and over HTTP
    tricode.py             document 001: an agent's events as JSON lines
    uap/                   document 004: the Universal Agent Protocol
    hub/                   document 004: sessions of all machines for phones and chats
    chat/                  what all chat platforms have in common
    telegram/              a bot in Telegram
    lark/                  agents in Lark and Feishu
"""
