"""Document 004: agents of any kind as messages of content blocks (the Universal Agent Protocol).

The shapes are in ``domain/content_blocks.py`` and ``domain/agent_message.py``, and
``agent/growing.py`` tells an agent's events in them: the conversations of the app show them too.
Here, ``reading.py`` checks those of others, ``envelopes.py`` has the other shape in which messages
travel, ``lines.py`` writes them down, ``parsing.py`` makes blocks of unstructured text,
``backend.py``, ``loop_backend.py``, ``ollama.py`` and ``registry.py`` are agents that can be
registered by a type.
"""
