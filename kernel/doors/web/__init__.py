"""The pages in a browser: HTTP for the files, a WebSocket for ``window.kernel``, on loopback only.

``server.py`` has the port, ``access.py`` decides who may come in, ``pages.py`` has the files;
``guest.py`` is one browser tab, ``exchange.py`` the kernel as a tab sees it, ``host_calls.py`` what
the browser cannot do for itself. What a tab may ask, and what it is told, is what a window of the
desktop app may (``electron-bridge/src``).
"""
