"""The two tables of handlers: what the kernel itself answers, and what a session answers."""

from kernel.dispatch.router import Router
from kernel.handlers.house import House
from kernel.sessions.session import Session

main_router: Router[House] = Router()
session_router: Router[Session] = Router()
