"""Document 004, the Universal Agent Protocol.

Agent messages made of content blocks, and agents registered by type.

Modules, in the order data meets them:

    messages.py
    agent_backends.py
"""
