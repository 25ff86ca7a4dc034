"""The open repositories of the kernel process.

One session per window, one shared workspace per repository.

Modules, in the order data meets them:

    logging_setup.py
    sessions.py
    workspaces.py
"""
