"""Notice that files of a repository have changed.

System events or polling, debounced into one notification.

Modules, in the order data meets them:

    event_source.py
    inotify_source.py
    polling.py
    debounce.py
    watcher.py
"""
