"""The kernel that clients share: attaching, status, its end; repositories and their sessions."""

from collections.abc import Iterator
from pathlib import Path

from codekernel.dispatch.dispatcher import HandlerReply
from codekernel.dispatch.routing import Lane
from codekernel.handlers.context import Services, main_router
from codekernel.protocol.messages import repos as messages
from codekernel.protocol.messages.kernel import (
    Attach,
    GetKernelStatus,
    KernelInfo,
    KernelStatus,
    OpenFolder,
    StopKernel,
)
from codekernel.protocol.messages.repos import OpenRepoReply
from codekernel.runtime.repo_folders import check_repo_folder, register_folder, require_repo_folder
from codekernel.runtime.retirement import check_protocol


@main_router.handles(Attach, lane=Lane.URGENT)
def attach(message: Attach, services: Services) -> KernelInfo:
    """Tell a client which kernel it talks to."""
    check_protocol(services.control.info, message)
    return services.control.info


@main_router.handles(OpenFolder, lane=Lane.MAIN)
def open_folder(message: OpenFolder, services: Services) -> Iterator[OpenRepoReply]:
    """Open a session on a folder, which is registered if it is new."""
    folder = Path(message.path)
    repo = register_folder(folder, services.repos, services.workspaces, keep=message.keep)
    require_repo_folder(repo)
    session = services.supervisor.open(message.session_id, repo)
    yield OpenRepoReply(repo_name=repo.name, path=str(repo.path))
    session.start()


@main_router.handles(GetKernelStatus, lane=Lane.OWN_THREAD)
def get_kernel_status(message: GetKernelStatus, services: Services) -> KernelStatus:
    """Say who is attached and what is open."""
    return services.control.get_status()


@main_router.handles(StopKernel, lane=Lane.URGENT)
def stop_kernel(message: StopKernel, services: Services) -> Iterator[None]:
    """Confirm, then end the kernel for everybody."""
    yield None
    services.control.stop("codekernel stop was called")


@main_router.handles(messages.StopAll, lane=Lane.URGENT)
def stop_all(message: messages.StopAll, services: Services) -> Iterator[None]:
    """Confirm, then stop."""
    yield None
    services.stop()


# How long deleteRepo waits for the repository's sessions to end.
SESSIONS_CLOSE_TIMEOUT_SECONDS = 2.0


@main_router.handles(messages.GetRepos, lane=Lane.MAIN)
def get_repos(message: messages.GetRepos, services: Services) -> messages.GetReposReply:
    """List what is registered."""
    entries = [
        messages.RepoEntry(name=repo.name, path=str(repo.path))
        for repo in services.repos.list_all()
    ]
    return messages.GetReposReply(repo_list=entries)


@main_router.handles(messages.WatchRepos, lane=Lane.MAIN)
def watch_repos(message: messages.WatchRepos, services: Services) -> None:
    """Tell this client of each change of the list."""
    services.watch_repos()


@main_router.handles(messages.CreateRepo, lane=Lane.MAIN)
def create_repo(message: messages.CreateRepo, services: Services) -> None:
    """Register a folder."""
    folder = check_repo_folder(message.path, message.repo_name)
    services.repos.add(message.repo_name, folder)


@main_router.handles(messages.OpenRepo, lane=Lane.MAIN)
def open_repo(message: messages.OpenRepo, services: Services) -> Iterator[messages.OpenRepoReply]:
    """Open a session; it starts after the reply, so that sessionPrepared can only follow it."""
    repo = services.repos.find(message.repo_name)
    require_repo_folder(repo)
    services.workspaces.keep_registered(repo)
    session = services.supervisor.open(message.session_id, repo)
    yield messages.OpenRepoReply(repo_name=repo.name, path=str(repo.path))
    session.start()


def _cancel_session(message: messages.CloseRepo, services: Services) -> None:
    services.supervisor.cancel(message.window)


@main_router.handles(messages.CloseRepo, lane=Lane.MAIN, on_arrival=_cancel_session)
def close_repo(message: messages.CloseRepo, services: Services) -> HandlerReply:
    """End a session; its work was cancelled when the message arrived."""
    services.supervisor.close(message.window)
    return HandlerReply(echo={"sessionId": message.window, "windowId": message.window})


@main_router.handles(messages.DeleteRepo, lane=Lane.MAIN)
def delete_repo(message: messages.DeleteRepo, services: Services) -> None:
    """Unregister the repository, end its sessions, discard its index; keep a folder of the user."""
    repo = services.repos.remove(message.repo_name)
    services.supervisor.close_repo(repo.id, SESSIONS_CLOSE_TIMEOUT_SECONDS)
    services.agents.use_if_created(
        lambda agents: agents.stop_folder(repo.path, SESSIONS_CLOSE_TIMEOUT_SECONDS)
    )
    services.workspaces.discard_index(repo.id)
    services.workspaces.discard_clone(repo.path)
