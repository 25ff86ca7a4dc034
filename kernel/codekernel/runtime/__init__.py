"""The open repositories of the kernel process.

One session per window, one shared workspace per repository.

Modules, in the order data meets them:

    logging_setup.py  warnings to stderr, everything to a rotating file
    sessions.py       one worker thread and inbox per window, and the table of them
    workspaces.py     what the sessions on one repository share
"""
