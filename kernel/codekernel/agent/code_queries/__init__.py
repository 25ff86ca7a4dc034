"""Questions about places in the code, as agents and people ask them.

Modules, in the order data meets them:

    context.py   what a question needs of a repository
    places.py    paths and lines as they are written
    symbols.py   definitions in files as they are now
    impact.py    what a change of a place reaches
    history.py   the commits behind a place
"""
