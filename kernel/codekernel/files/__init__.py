"""Find the files of a repository that are indexed, and read and decode their text.

Modules, in the order data meets them:

    walk.py              FileWalker: every file found or skipped
    skip_rules.py        decides for each entry: index, enter or skip; by name, size, text or rule
    git_repository.py    git's settings, excludes and tracked paths, without git
    ignore_rules.py      the rules of one ignore file, line by line
    reading.py           a consistent snapshot of a file, or a range of its lines
    encodings.py         detects the encoding and decodes
"""
