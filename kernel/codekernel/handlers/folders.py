"""Choose a folder, see what would be indexed of it, register it; the indexes of userData."""

from collections.abc import Mapping
from pathlib import Path

from codekernel.dispatch.routing import Lane
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import InvalidPath
from codekernel.handlers.context import Services, main_router
from codekernel.indexing.folder_preview import preview_folder
from codekernel.protocol.messages import repos as messages
from codekernel.protocol.messages.kernel import (
    CleanedIndex,
    CleanIndexes,
    CleanIndexesReply,
    GetIndexes,
    GetIndexesReply,
    IndexEntry,
)
from codekernel.runtime.index_folders import IndexFolder, select_unused
from codekernel.runtime.repo_folders import check_repo_folder, list_folders, register_folder
from codekernel.storage.index_examination import count_index_contents


@main_router.handles(messages.ListFolders, lane=Lane.OWN_THREAD)
def list_folders_in(message: messages.ListFolders, services: Services) -> messages.ListFoldersReply:
    """List the folders in a folder."""
    found = list_folders(message.path)
    parent = found.path.parent
    return messages.ListFoldersReply(
        path=str(found.path),
        parent="" if parent == found.path else str(parent),
        folders=[
            messages.ChoosableFolder(
                name=each.path.name,
                path=str(each.path),
                is_repository=each.is_repository,
                is_hidden=each.is_hidden,
            )
            for each in found.folders
        ],
        is_complete=found.is_complete,
    )


@main_router.handles(messages.PreviewFolder, lane=Lane.OWN_THREAD)
def preview(message: messages.PreviewFolder, services: Services) -> messages.PreviewFolderReply:
    """Say what would be indexed of a folder."""
    folder = check_repo_folder(message.path, Path(message.path).name)
    try:
        found = preview_folder(folder, CancelToken())
    except OSError as error:
        raise InvalidPath(f"{folder} cannot be listed: {error.strerror}") from error
    ranked = sorted(found.languages.items(), key=lambda item: -item[1][1])
    return messages.PreviewFolderReply(
        path=str(folder),
        files=found.files,
        bytes=found.size,
        languages=[
            messages.LanguageShare(language=language, files=files, bytes=size)
            for language, (files, size) in ranked
        ],
        skipped={reason.value: count for reason, count in found.skipped.most_common()},
        seconds=found.seconds,
        index_bytes=found.index_bytes,
        is_complete=found.is_complete,
    )


@main_router.handles(messages.RegisterFolder, lane=Lane.MAIN)
def register(message: messages.RegisterFolder, services: Services) -> messages.RegisterFolderReply:
    """Register a folder under a free name."""
    repo = register_folder(Path(message.path), services.repos, services.workspaces)
    return messages.RegisterFolderReply(repo_name=repo.name, path=str(repo.path))


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
