"""The commands of the terminal.

Parse arguments, build what a command needs, run it, print its output.

Modules, in the order data meets them:

    main.py
    arguments.py
    project_folder.py
    model_selection.py
    folder_index.py
    agent_setup.py
    agent_search.py
    mcp_conversations.py
    evaluation.py
"""
