"""Search and the index behind it."""

from kernel.dispatch.lanes import Lane
from kernel.errors import NotThereYet
from kernel.handlers.routers import session_router
from kernel.protocol.messages.search import GetChunksInfo, Search
from kernel.sessions.session import Session


@session_router.handles(Search, lane=Lane.SESSION)
def search(message: Search, session: Session) -> None:
    """Rank the repository's chunks; arrives with the search room."""
    raise NotThereYet("search arrives with a later version of codekernel")


@session_router.handles(GetChunksInfo, lane=Lane.SESSION)
def get_chunks_info(message: GetChunksInfo, session: Session) -> None:
    """List the repository's chunks; arrives with the index."""
    raise NotThereYet("the index arrives with a later version of codekernel")
