"""What tools work on: the confined root, text files, atomic writes, the undo journal, processes.

Modules, in the order data meets them:

    root.py              resolves paths inside the repository root, whatever links there are
    text_file.py         text files with their encoding and last known state; edits and diffs
    bounded_regex.py     regular expressions with a time limit, in a child process if they are slow
    atomic_write.py      replaces, creates and moves files atomically; logs temporary files
    journal.py           the undo journal of a session, and its file
    snapshot.py          states of a folder, to find what others changed in it
    processes.py         child processes in groups, and pseudo-terminals
    terminals.py         interactive programs and their output
"""
