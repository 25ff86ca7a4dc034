"""The open repositories of the kernel process.

One session per window, one shared workspace per repository.

Modules, in the order data meets them:

    logging_setup.py  warnings to stderr, without secrets
    log_file.py       everything to rotating files
    earlier_folder.py  the folder of the desktop app of earlier versions, taken over once
    user_data_merge.py  the steps of that
    endpoint.py       attaches the programs that come by the local endpoint
    retirement.py     hands the endpoint and the clients over to a newer kernel
    clients.py        the programs attached to the kernel, and what ``codekernel status`` shows
    late_services.py  services that are imported when they are needed
    sessions.py       one worker thread and inbox per window, and the table of them
    agent_windows.py  what windows use of the agents of the kernel
    index_folders.py  the indexes on disk, and which of them nobody uses
    repo_folders.py   folders to choose from, and those of repositories: checks, registering
    workspaces.py     the open workspaces
    workspace.py      what the sessions on one repository share
    repository_search.py  one search of several repositories
    savings.py        what agents did not read because they searched
"""
