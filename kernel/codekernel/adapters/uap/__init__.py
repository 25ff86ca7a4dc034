"""Document 004, the Universal Agent Protocol.

Modules, in the order data meets them:

    messages.py        agent messages made of content blocks
    agent_backends.py  agents registered by type
"""
