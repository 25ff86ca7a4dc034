"""The tools that a model may call, grouped by subject.

Modules, in the order data meets them:

    toolsets.py        the tool sets of our agent and of each foreign protocol
    call_format.py     calls and results as short lines for display
    file_access.py     read_file; reads, creates and changes text files for the other tools
    grep.py            search_context and grep_file: regular expressions over files
    index_search.py    search and call_chain: the ranked search and the call graph
    file_system.py     create_file, delete_file, delete_path, mkdir, list_directory
    edit_file.py       edit_file: overwrite, append, prepend, hunks; apply_change of document 002
    string_edit.py     Replace, Edit and MultiEdit of document 000
    notebook_edit.py   NotebookEditCell of document 000
    plan.py            plan: create, update or skip the plan
    shell.py           run_command and the interactive sessions
"""
