"""One declaration per message, grouped by family.

Handlers/ has a module of the same name for each.

Modules, in the order data meets them:

    agent.py
    conversation.py
    repos.py
    search.py
    settings.py
"""
