"""One short function per message, by family: unpack, call the room that does the work, present.

Importing this package fills the two tables in ``routers.py``.
"""

from kernel.handlers import agent, conversation, files, lifecycle, repos, search, secrets, settings
from kernel.handlers.house import House
from kernel.handlers.routers import main_router, session_router

__all__ = [
    "House",
    "agent",
    "conversation",
    "files",
    "lifecycle",
    "main_router",
    "repos",
    "search",
    "secrets",
    "session_router",
    "settings",
]
