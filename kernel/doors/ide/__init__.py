"""Document 002: tools of an IDE over WebSockets, both ends of it.

The *plugin* end carries out calls: ``executor.py`` does them, ``connecting.py`` dials a backend and
``listening.py`` is dialled by one. The *backend* end makes calls: ``calling.py`` keeps them until
they are answered, ``backend.py`` is the port that plugins dial. ``messages.py`` is the wire.
"""
