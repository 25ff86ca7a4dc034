"""The tools a model may call, grouped by subject, and the tool sets offered to each protocol.

Modules, in the order data meets them:

    toolsets.py
    call_format.py
    file_access.py
    read_file.py
    grep.py
    index_search.py
    file_system.py
    edit_file.py
    apply_change.py
    string_edit.py
    notebook_edit.py
    plan.py
    shell.py
"""
