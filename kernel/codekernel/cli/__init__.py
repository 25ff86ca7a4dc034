"""The commands of the terminal: parse arguments, build what a command needs, run it, print.

Modules, in the order data meets them:

    main.py             the entry point: Ctrl-C handler, ``serve`` at once, table of commands
    arguments.py        the argparse parser of every command
    process.py          exit codes, signals, the end of the process
    commands/           one module per command
    project_folder.py   the project root and the folder of its index
    model_selection.py  settings, index plan, chat model, reranker
    folder_index.py     the index of one folder for one command
    agent_setup.py      chat model, tools, permissions and session of one agent run
    agent_search.py     search and call chains for the agent's tools
    output/             what is printed
"""
