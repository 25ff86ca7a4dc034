"""The Model Context Protocol: a repository's search, files and calls for somebody else's agent.

``repository.py`` is the folder with its index, ``tools.py`` what can be called, ``resources.py``
what can be read; ``server.py`` puts both on the official SDK, ``stdio.py`` and ``over_http.py`` on
a wire. The SDK brings asyncio with it: it ends here, everything below works on threads.
"""
