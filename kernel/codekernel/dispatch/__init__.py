"""From an envelope to its handler.

Routes, lanes, the backlog, and the one place where an exception becomes a status.

Modules, in the order data meets them:

    routing.py
    requests.py
    dispatcher.py
    notifications.py
"""
