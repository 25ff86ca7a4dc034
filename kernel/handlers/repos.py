"""The list of repositories, and opening and closing them."""

from collections.abc import Iterator

from kernel.dispatch.answering import Answer
from kernel.dispatch.lanes import Lane
from kernel.handlers.house import House
from kernel.handlers.routers import main_router
from kernel.protocol.messages.repos import (
    CloseRepo,
    CreateRepo,
    DeleteRepo,
    GetRepos,
    GetReposReply,
    OpenRepo,
    OpenRepoReply,
    RepoEntry,
)
from kernel.sessions.folders import must_be_there, registrable

# How long deleteRepo waits for the repository's own sessions before it deletes under them.
SESSIONS_END_WITHIN_SECONDS = 2.0


@main_router.handles(GetRepos, lane=Lane.MAIN)
def get_repos(message: GetRepos, house: House) -> GetReposReply:
    """List what is registered."""
    entries = [RepoEntry(name=repo.name, path=str(repo.path)) for repo in house.repos.all()]
    return GetReposReply(repo_list=entries)


@main_router.handles(CreateRepo, lane=Lane.MAIN)
def create_repo(message: CreateRepo, house: House) -> None:
    """Register a folder."""
    folder = registrable(message.path, message.repo_name)
    house.repos.add(message.repo_name, folder)


@main_router.handles(OpenRepo, lane=Lane.MAIN)
def open_repo(message: OpenRepo, house: House) -> Iterator[OpenRepoReply]:
    """Open a session; it starts after the reply, so that sessionPrepared can only follow it."""
    repo = house.repos.find(message.repo_name)
    must_be_there(repo)
    session = house.supervisor.open(message.session_id, repo)
    yield OpenRepoReply(repo_name=repo.name, path=str(repo.path))
    session.start()


def _cancel_session(message: CloseRepo, house: House) -> None:
    house.supervisor.cancel(message.window)


@main_router.handles(CloseRepo, lane=Lane.MAIN, at_once=_cancel_session)
def close_repo(message: CloseRepo, house: House) -> Answer:
    """End a session; its work has been told to stop already, when the message arrived."""
    house.supervisor.close(message.window)
    return Answer(echo={"sessionId": message.window, "windowId": message.window})


@main_router.handles(DeleteRepo, lane=Lane.MAIN)
def delete_repo(message: DeleteRepo, house: House) -> None:
    """Forget the repository, end its sessions, drop its index; the folder is not touched."""
    repo = house.repos.remove(message.repo_name)
    house.supervisor.close_repo(repo.id, SESSIONS_END_WITHIN_SECONDS)
    house.workspaces.discard(repo.id)
