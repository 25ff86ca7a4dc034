"""Choose a folder, see what would be indexed of it, register it."""

from pathlib import Path

from codekernel.dispatch.routing import Lane
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import InvalidPath
from codekernel.handlers.context import Services, main_router
from codekernel.indexing.folder_preview import preview_folder
from codekernel.protocol.messages import repos as messages
from codekernel.runtime.repo_folders import check_repo_folder, list_folders, register_folder


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
