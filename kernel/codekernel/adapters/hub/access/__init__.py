"""Who may use the hub: devices and their keys, pairing, tokens, limits, Host and Origin.

Modules, in the order data meets them:

    devices.py       paired devices and machines; of their keys only hashes are kept
    pairing.py       codes that are good once, for ten minutes
    tokens.py        short-lived tokens that a device gets for its key
    rate_limits.py   how often an address may fail
    addresses.py     which names the hub may be called by, and which pages may call it
    certificate.py   a certificate of the hub's own, for TLS without an authority
"""
