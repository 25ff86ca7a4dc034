"""From an envelope to its handler.

Routes, lanes, the backlog, and the one place where an exception becomes a status.

Modules, in the order data meets them:

    dispatcher.py      a line -> the lane that answers it; the backlog; errors become statuses
    routing.py         lanes and routes
    notifications.py   requests of the kernel to the front end
"""
