"""Events: numbered for replay, and told to every device.

Modules, in the order data meets them:

    log.py         the last events of all machines, with the hub's own numbers
    broadcast.py   one connection for each device that listens; notices of visible pages
"""
