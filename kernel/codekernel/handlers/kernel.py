"""The kernel that several clients share: attaching, status, opening a folder, its end."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from codekernel.dispatch.routing import Lane
from codekernel.handlers.context import Services, main_router
from codekernel.protocol.messages.kernel import (
    Attach,
    CleanedIndex,
    CleanIndexes,
    CleanIndexesReply,
    GetIndexes,
    GetIndexesReply,
    GetKernelStatus,
    IndexEntry,
    KernelInfo,
    KernelStatus,
    OpenFolder,
    StopKernel,
)
from codekernel.protocol.messages.repos import OpenRepoReply
from codekernel.runtime.index_folders import IndexFolder, select_unused
from codekernel.runtime.repo_folders import register_folder, require_repo_folder
from codekernel.runtime.retirement import check_protocol

# Of a process that has a kernel or an index of its own.
_STANDALONE_CLIENT = "a program without the shared kernel"


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


@main_router.handles(GetIndexes, lane=Lane.OWN_THREAD)
def get_indexes(message: GetIndexes, services: Services) -> GetIndexesReply:
    """List the indexes and who has them open."""
    open_in = services.control.find_open_repos()
    return GetIndexesReply(
        indexes=[
            IndexEntry(
                repo_name=each.repo.name if each.repo else "",
                path=str(each.root or ""),
                folder=each.folder.name,
                files=each.files,
                chunks=each.chunks,
                size_bytes=each.size_bytes,
                used_at=int(each.used_at * 1000),
                is_gone=each.is_gone,
                open_in=_list_users(each, open_in),
            )
            for each in services.workspaces.list_index_folders(services.repos.list_all())
        ],
        shared_vectors_bytes=services.workspaces.vector_sweeper().measure(),
    )


def _list_users(index: IndexFolder, open_in: Mapping[int, list[str]]) -> list[str]:
    clients = open_in.get(index.repo.id, []) if index.repo else []
    return [*clients, _STANDALONE_CLIENT] if index.is_busy else clients


@main_router.handles(CleanIndexes, lane=Lane.OWN_THREAD)
def clean_indexes(message: CleanIndexes, services: Services) -> CleanIndexesReply:
    """Delete what nobody uses, and vectors that no other index has.

    A repository whose folder is gone, or that was only searched in a terminal, is unregistered.
    """
    indexes = services.workspaces.list_index_folders(services.repos.list_all())
    unused = list(select_unused(indexes, services.control.find_open_repos(), message.days))
    for index, _ in () if message.dry_run else unused:
        if index.repo and (index.is_gone or index.is_search_only):
            services.repos.remove(index.repo.name)
        services.workspaces.discard_folder(index.folder, index.repo)
        if index.root:
            services.workspaces.discard_clone(index.root)
    freed = services.workspaces.vector_sweeper().sweep(
        0.0, without={index.folder for index, _ in unused}, dry_run=message.dry_run
    )
    return CleanIndexesReply(
        cleaned=[
            CleanedIndex(
                repo_name=index.repo.name if index.repo else "",
                path=str(index.root or ""),
                folder=index.folder.name,
                size_bytes=index.size_bytes,
                reason=reason,
            )
            for index, reason in unused
        ],
        shared_vectors_bytes=freed,
    )


@main_router.handles(StopKernel, lane=Lane.URGENT)
def stop_kernel(message: StopKernel, services: Services) -> Iterator[None]:
    """Confirm, then end the kernel for everybody."""
    yield None
    services.control.stop("codekernel stop was called")
