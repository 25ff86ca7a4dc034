"""Who calls whom: definitions and references of every indexed file, and the ways between them.

A file is read by its language's query (``*_queries.py``) into facts (``domain/call_facts.py``).
They lie in ``calls.db`` beside the catalogue, are a cache of it by digest, and are brought up to
date when somebody asks (``filling.py``). What a call means is decided when it is asked for
(``resolving.py``), because another file may have changed since.
"""
