"""The routes of the published client contract, and some of our own.

Modules, in the order data meets them:

    requests.py      a request as its handler sees it; the one place where an error becomes a status
    auth.py          /health, sign in, pair
    sessions.py      list, read, rename, archive, resume, delete, stop; mode and model
    messages.py      read, send, take back
    permissions.py   approve, deny
    machines.py      list, start a session; the connection of another machine
    files.py         files and changes in the folder of a session
    events.py        server-sent events, visibility
    pages.py         the files of the pages
"""
