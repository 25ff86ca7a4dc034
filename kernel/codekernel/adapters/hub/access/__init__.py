"""Who may use the hub: devices and their keys, pairing, tokens, limits, Host and Origin.

Modules, in the order data meets them:

    devices.py       paired devices and machines, pairing codes, hashes of their keys, tokens
    addresses.py     names and pages that may call the hub, and how often a caller may fail
    certificate.py   a certificate of the hub's own, for TLS without an authority
"""
