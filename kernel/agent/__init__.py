"""An agent's tools and what they may touch.

A tool (``tool.py``) is a value in a file of ``tools/``; ``registry.py`` calls it by its name with
the JSON of a model, within a context (``context.py``): one root, one person's permissions, one
journal by which everything can be undone. Nothing here knows a protocol; ``doors/`` do.
"""
