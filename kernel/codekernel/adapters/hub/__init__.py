"""The hub: sessions of all machines for phones, browsers and chats (docs/hub.md).

Modules, in the order data meets them:

    database.py        devices, pairing codes and bindings of chats, in a database of the hub's own
    running_hub.py     where the hub runs, and a pairing code as QR code, for commands
    server.py          the port and all routes, behind the checks of Host and Origin
    certificate.py     a certificate of the hub's own, for TLS without an authority
    devices.py         devices, pairing, tokens; who may call the hub, and how often fail
    routes/            the published client contract, as short functions
    contract/          its shapes, as pure functions
    machine_table.py   the machines: attached, followed, remembered while they are away
    machines.py        the sessions of all machines as one
    machine_link.py    the connection of another machine, at the hub
    joining.py         its other end: another machine dials the hub
    events.py          numbered events, replay, one connection for each device
    service.py         the hub as a whole; what a chat adapter is to it
"""
