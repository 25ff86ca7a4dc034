"""One module per command (related ones together); each is imported only when its command runs.

Modules, in the order data meets them:

    serve.py            a front end over JSON lines
    kernel.py           the kernel that all clients share
    web.py              the pages in a browser
    search.py           search a folder, several repositories, or a URL
    search_base.py      the same in a base of a team
    code_queries.py     impact of a change, history of lines, code like a place
    man.py              the manual page; completion scripts of shells
    ask.py              a question to a chat model, and how its turn is printed
    agent.py            the agent in a terminal or as JSON lines, and undo
    backend.py          the agent's tools as JSON lines
    mcp.py              a repository over the Model Context Protocol
    mcp_http.py         the same over HTTP
    install.py          that server in the config files of coding agents
    acp.py              our agent for an editor
    ide_tools.py        the tools of an IDE plugin over WebSockets
    hub.py              agents for phones, browsers, chats and other machines; who may use the chats
    hub_chats.py        the bots that the settings ask for
    status.py           the kernel that runs, and its end; what agents did not read
    repos.py            repositories and their indexes
    eval.py             search quality on the repository's own commits
    eval_tuning.py      what eval --tune learned
    pack.py             whole indexes in a team's store
    build_base.py       many repositories in one table of a team's store
    share.py            what a team's store holds
    serve_team.py       a kernel that a team searches over HTTP
    team.py             its tokens
    models.py           installed models, API keys, and what remote models may be sent
    models_add.py       set up a chat model
    doctor.py           check the installation and the user files
    doctor_why.py       explain one file
    doctor_servers.py   check the store of a team and remote models
    doctor_hub.py       check the hub and its bots
"""
