"""Find the files of a repository that are indexed (ignore rules.

File filters) and read and decode their text.

Modules, in the order data meets them:

    encodings.py
    file_filters.py
    ignore_patterns.py
    ignore_rules.py
    git_repository.py
    skip_rules.py
    walk.py
    reading.py
"""
