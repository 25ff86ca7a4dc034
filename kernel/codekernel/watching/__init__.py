"""Notice that files of a repository have changed.

System events or polling, debounced into one notification.

Modules, in the order data meets them:

    event_source.py      relevant paths, what a source reports, inotify for Linux
    watchdog_source.py   events on macOS and Windows
    polling.py           which file systems send no events
    watcher.py           events, polling or both, debounced; notices a root that is gone
"""
