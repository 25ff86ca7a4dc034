"""One short function per message: unpack, call the layer below, present.

Importing this package fills the two routers of context.py. Modules:

    context.py        services and routers
    kernel.py         the kernel that clients share
    repos.py          start, stop, repositories and sessions
    search.py         search and the state of the index
    code_queries.py   impact, history of lines, code like a place
    conversation.py   conversations and turns of the agent
    agent_sessions.py  agent sessions that every device sees
    agent_session_requests.py  what they ask of the sync engine
    settings.py       API keys, settings, models, hardware
"""

from codekernel.handlers import (
    agent_sessions,
    code_queries,
    conversation,
    kernel,
    repos,
    search,
    settings,
)

__all__ = [
    "agent_sessions",
    "code_queries",
    "conversation",
    "kernel",
    "repos",
    "search",
    "settings",
]
