"""Chat endpoints: where they are, how to talk to them, and how to say what went wrong.

The only room that httpx enters. The modules that need it (``answer``, ``client``, ``explain``,
``refusals``, ``retrying``, ``route``, ``trial``) import it at their top, so whoever wires them
imports them late; ``import kernel.llm`` itself and ``endpoint`` stay cheap.
"""
