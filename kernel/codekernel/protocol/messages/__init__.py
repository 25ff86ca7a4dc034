"""One declaration per message; handlers/ has a module of the same name for each.

Modules:

    kernel.py         the kernel that clients share
    repos.py          start, stop, repositories and sessions
    folders.py        folders of this machine, before they are repositories
    search.py         search and the state of the index
    conversation.py   conversations and turns of the agent, and their parts
    agent_sessions.py  agent sessions that every device sees
    history.py        the history of a conversation, and what models have used
    settings.py       API keys, settings, models, hardware
"""
