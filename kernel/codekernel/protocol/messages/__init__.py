"""One declaration per message; handlers/ has a module of the same name for each.

Modules:

    repos.py          start, stop, repositories and sessions
    search.py         search and the state of the index
    conversation.py   conversations and their parts
    agent.py          turns of the agent
    settings.py       API keys, settings, models, hardware
"""
