"""The hub: sessions of all machines for phones, browsers and chats (docs/hub.md).

Modules, in the order data meets them:

    database.py   devices, pairing codes and bindings of chats, in a database of the hub's own
    service.py    the hub as a whole; what a chat adapter is to it
"""
