"""What tools work on: the confined root, text files, atomic writes.

The undo journal, processes and terminals.

Modules, in the order data meets them:

    root.py
    atomic_write.py
    text_file.py
    text_edit.py
    temporary_files.py
    journal_file.py
    journal.py
    processes.py
    terminals.py
    bounded_regex.py
    regex_child.py
"""
