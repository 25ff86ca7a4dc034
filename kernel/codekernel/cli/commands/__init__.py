"""One module per command (related ones together); each is imported only when its command runs.

Modules, in the order data meets them:

    user_file_check.py
    serve.py
    web.py
    search.py
    ask.py
    agent.py
    backend.py
    mcp.py
    mcp_server.py
    ide_tools.py
    eval.py
    doctor.py
    doctor_why.py
    models.py
    completion.py
"""
