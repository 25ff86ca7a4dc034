"""The commands of the terminal: parse arguments, build what a command needs, run it, print.

Modules, in the order data meets them:

    main.py             the entry point: Ctrl-C handler, ``serve`` at once
    arguments.py        the argparse parser of every command, and the run of one
    process.py          exit codes, signals, the end of the process
    commands/           one module per command
    kernel_startup.py   a kernel in this process, for ``serve`` and ``web``
    start_page.py       the first page of ``web`` and the index of its folder
    project_folder.py   the project root and the folder of its index
    model_selection.py  settings, index plan, chat model, reranker
    kernel_search.py    a search in the shared kernel
    standalone_search.py  a search with an index of this process
    standalone_mcp.py   an MCP server with an index of this process
    folder_index.py     the index of one folder for one command
    agent_setup.py      chat model, tools, permissions and session of one agent run
    agent_search.py     search and call chains for the agent's tools
    output/             what is printed
"""
