"""One short function per message, by family: unpack, call the layer below, present.

Importing this package fills the two tables of ``context.py``.
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
