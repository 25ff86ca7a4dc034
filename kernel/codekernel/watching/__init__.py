"""Notice that files of a repository have changed.

System events or polling, debounced into one notification.

Modules, in the order data meets them:

    event_source.py    relevant paths, what a source reports, watchdog for macOS and Windows
    inotify_source.py  events on Linux
    polling.py         which file systems send no events
    debounce.py        one notification for a burst of events
    watcher.py         events, polling or both; notices that the root is gone or another folder
"""
