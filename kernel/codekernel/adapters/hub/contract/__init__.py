"""The shapes of the published client contract, as pure functions of the engine's values.

Modules, in the order data meets them:

    messages.py   messages of a session as envelopes, their pages and cursors
    sessions.py   sessions, patches, summaries, machines; events as server-sent events
"""
