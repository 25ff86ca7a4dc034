"""One module per command (related ones together); each is imported only when its command runs.

Modules, in the order data meets them:

    serve.py            a front end over JSON lines
    web.py              the pages in a browser
    search.py           search a folder
    ask.py              a question to a chat model
    agent.py            the agent in a terminal or as JSON lines, and undo
    backend.py          the agent's tools as JSON lines
    mcp.py              a repository over the Model Context Protocol
    ide_tools.py        the tools of an IDE plugin over WebSockets
    eval.py             search quality on the repository's own commits
    models.py           installed models and API keys
    doctor.py           check the installation
    doctor_why.py       explain one file
    user_file_check.py  find damaged user files, for doctor
    completion.py       completion scripts of shells
"""
