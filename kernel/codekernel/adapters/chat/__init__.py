"""What all chat platforms have in common; each of them renders it in its own way.

Modules, in the order data meets them:

    bindings.py            bound users, the session of each chat, handled events; on disk
    buttons.py             what an opaque button stands for; on disk
    commands.py            slash commands: parse and run
    session_lines.py       sessions as lines and choices
    repository_queries.py  search and questions without an agent
    permissions.py         the answers that a permission offers, and its decision
    turns.py               messages of a session as turns, and a turn as steps, masked
    session_feed.py        a session as one chat follows it
    outgoing.py            when a chat may be written to again
"""
