"""Document 004: agents of any kind as messages of content blocks (the Universal Agent Protocol).

``blocks.py`` and ``message.py`` have the shapes, ``envelopes.py`` the other shape in which messages
travel, ``growing.py`` tells an agent's events in them, ``lines.py`` writes them down,
``parsing.py`` makes blocks of unstructured text, ``backend.py``, ``loop_backend.py``, ``ollama.py``
and ``registry.py`` are agents that can be registered by a type.
"""
