"""The sync engine of document 004: keeps agent sessions, runs their agents, tells every device.

Modules, in the order data meets them:

    agents.py    what an agent is to the engine, and the registry of agents by kind
"""
