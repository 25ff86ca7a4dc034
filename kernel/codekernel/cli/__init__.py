"""The commands of the terminal: parse arguments, build what a command needs, run it, print.

Modules, in the order data meets them:

    main.py             the entry point: Ctrl-C handler, ``serve`` at once
    late_modules.py     puts off imports that most runs never need
    command_line.py     parses the command line and runs its command
    arguments.py        the options of every command, as argparse parsers
    command_parser.py   usage errors that say what was meant, help with examples, values of options
    search_arguments.py  the arguments of ``search``
    setup_arguments.py  those of ``install``, ``models`` and of what a team shares
    search_targets.py   the query that they make, and what it is about
    git_clone.py        clones of URLs that are searched
    editor.py           opens a hit in the user's editor
    process.py          exit codes, signals, the end of the process
    commands/           one module per command
    kernel_finder.py    finds the kernel that a command is a client of
    kernel_access.py    a connection of a command to it
    relay_startup.py    lines of ``serve`` to the shared kernel, after ``ready``
    kernel_startup.py   a kernel in this process, where none is shared
    project_folder.py   the project root and its index
    team_access.py      the team of a command
    environment_model.py  the chat model of the environment
    model_selection.py  the settings and the chat model of a command
    folder_session.py   a folder that is open in the kernel for one command
    turn_stream.py      a turn that runs in the kernel
    agent_turn.py       the same of an agent, as events
    output/             what is printed
"""
