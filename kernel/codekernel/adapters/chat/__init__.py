"""What all chat platforms have in common; each of them renders it in its own way.

Modules, in the order data meets them:

    bindings.py            bound users, the session of each chat, handled events, buttons; on disk
    commands.py            slash commands: parse and run
    repository_queries.py  search and questions without an agent
    permissions.py         the answers that a permission offers, and its decision
    turns.py               messages of a session as turns, and a turn as steps, masked
    session_feed.py        a session as one chat follows it, and when it may be written to again
"""
