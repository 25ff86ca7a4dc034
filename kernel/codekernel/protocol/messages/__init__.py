"""One declaration per message, by subject; handlers/ answers them.

Modules:

    kernel.py         the kernel that clients share
    repos.py          start, stop, folders to choose from, repositories and sessions
    code_queries.py   calls, impact, history of lines, code like a place
    search.py         search and the state of the index
    conversation.py   conversations and turns of the agent, and their parts
    permission_rules.py  what agents may do without being asked
    agent_sessions.py  agent sessions that every device sees
    history.py        the history of a conversation, and what models have used
    settings.py       API keys, settings, models, hardware
"""
