"""The client side of a shared kernel: find or start it, talk to it, survive its death.

Imports little, because a search in a terminal has a tenth of a second for everything.

Modules, in the order data meets them:

    launcher.py         connects to the kernel of a userData folder, or starts it
    connection.py       requests and replies of one command
    relay.py            a program's link to whichever kernel runs; stdin and stdout over it
    relay_state.py      what is remembered of a front end, to go on with another kernel
    mcp_relay_state.py  the same of an MCP client
    kernel_requests.py  requests and streams of many threads over one connection
    agent_sessions.py   AgentSessions of the kernel, for other processes
    link_channel.py     the lines of the shared kernel
    settings_saver.py   saves settings.json as the protocol wants it
    linked_kernel.py    the shared kernel where a kernel of this process could be
"""
