"""The shapes of the published client contract, as pure functions of the engine's values.

Modules, in the order data meets them:

    messages.py   a message of a session as an envelope
    sessions.py   sessions, patches, summaries, machines
    frames.py     events as server-sent events
    paging.py     pages of messages and their cursors
"""
