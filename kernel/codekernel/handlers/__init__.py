"""One short function per message: unpack, call the layer below, present.

Importing this package fills the two routers of context.py. Modules:

    context.py        services and routers
    repos.py          start, stop, repositories and sessions
    search.py         search and the state of the index
    conversation.py   conversations
    agent.py          turns of the agent
    settings.py       API keys, settings, models, hardware
"""

from codekernel.handlers import agent, conversation, repos, search, settings
from codekernel.handlers.context import Services, main_router, session_router

__all__ = [
    "Services",
    "agent",
    "conversation",
    "main_router",
    "repos",
    "search",
    "session_router",
    "settings",
]
