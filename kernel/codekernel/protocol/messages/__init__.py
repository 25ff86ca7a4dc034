"""One declaration per message, by subject; handlers/ answers them.

Modules:

    kernel.py         the kernel that clients share
    repos.py          start, stop, folders to choose from, repositories and sessions
    code_queries.py   calls, impact, history of lines, code like a place
    search.py         search and the state of the index
    conversation.py   conversations, the parts of an answer, their history and costs
    agent_turns.py    tasks of an agent in conversations, permissions and their rules, undo
    agent_sessions.py  agent sessions that every device sees
    settings.py       API keys, settings, models, hardware
"""
