"""The indexes of userData: what is there, and which of them may go."""

from collections.abc import Mapping

from codekernel.dispatch.routing import Lane
from codekernel.handlers.context import Services, main_router
from codekernel.protocol.messages.kernel import (
    CleanedIndex,
    CleanIndexes,
    CleanIndexesReply,
    GetIndexes,
    GetIndexesReply,
    IndexEntry,
)
from codekernel.runtime.index_folders import IndexFolder, select_unused
from codekernel.storage.index_examination import count_index_contents

# Of a process that has a kernel or an index of its own.
_STANDALONE_CLIENT = "a program without the shared kernel"


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
            for each in services.workspaces.list_index_folders(
                services.repos.list_all(), count_index_contents
            )
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
    indexes = services.workspaces.list_index_folders(
        services.repos.list_all(), count_index_contents
    )
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
