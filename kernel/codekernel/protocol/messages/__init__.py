"""One declaration per message; handlers/ has a module of the same name for each.

Modules:

    kernel.py         the kernel that clients share
    repos.py          start, stop, repositories and sessions
    folders.py        folders to choose from, and what indexing one would take
    code_queries.py   impact, history of lines, code like a place
    search.py         search and the state of the index
    places.py         what an editor asks about a place in the code
    conversation.py   conversations and turns of the agent, and their parts
    permission_rules.py  what agents may do without being asked
    agent_sessions.py  agent sessions that every device sees
    history.py        the history of a conversation, and what models have used
    settings.py       API keys, settings, models, hardware
"""
