"""One short function per message: unpack, call the layer below, present.

Importing this package fills the two routers of context.py. Modules:

    context.py        services and routers
    kernel.py         the kernel that clients share
    repos.py          start, stop, repositories and sessions
    folders.py        choose a folder, and register it
    search.py         search and the state of the index
    code_queries.py   impact, history of lines, code like a place
    places.py         what an editor asks about a place in the code
    conversation.py   conversations and turns of the agent
    agent_sessions.py  agent sessions that every device sees
    agent_session_requests.py  what they ask of the sync engine
    settings.py       API keys, settings, models, hardware
"""

from codekernel.handlers import (
    agent_sessions,
    code_queries,
    conversation,
    folders,
    kernel,
    places,
    repos,
    search,
    settings,
)

__all__ = [
    "agent_sessions",
    "code_queries",
    "conversation",
    "folders",
    "kernel",
    "places",
    "repos",
    "search",
    "settings",
]
