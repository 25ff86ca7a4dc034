"""The routes of the published client contract, and some of our own.

Modules, in the order data meets them:

    requests.py      what routes use; a request as they see it; where errors become a status
    auth.py          /health, sign in, pair
    sessions.py      list, read, rename, archive, resume, delete, stop; mode and model
    messages.py      read, send, take back; approve and deny what an agent asks
    machines.py      list, start a session; the connection of another machine
    files.py         files and changes in the folder of a session
    events.py        server-sent events, visibility
"""
