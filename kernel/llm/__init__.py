"""Chat models: where they are, how to talk to them, and how to say what went wrong.

``backends`` opens one; what comes of it is a ``ChatBackend`` of ``domain/chat.py``. This is the
only room that httpx enters, and the optional xllamacpp. Most modules import httpx at their top, so
whoever wires them imports them late; ``import kernel.llm`` itself and ``endpoint`` stay cheap.
"""
