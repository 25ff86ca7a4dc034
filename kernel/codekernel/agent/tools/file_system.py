"""create_file, delete_file, delete_path, mkdir and list_directory.

Deleted entries are kept in the undo journal.
"""

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from codekernel.agent.tool import ToolContext, ToolOutcome, make_success, tool
from codekernel.agent.tool_policy import ToolError, ToolPermission, format_os_error
from codekernel.agent.tools.file_access import create_text_file, list_missing_folders, path_exists
from codekernel.domain.confinement.confined_path import ConfinedPath, OpenFolderStack
from codekernel.domain.confinement.folder_handle import FolderHandle
from codekernel.domain.untrusted_text import encode_path
from codekernel.protocol.tool_schema import describe_argument


@dataclass(frozen=True, slots=True)
class CreateFileArguments:
    """Where, and what is in it."""

    path: Annotated[str, describe_argument("the file to make")]
    content: Annotated[str, describe_argument("its text, written exactly so, in UTF-8")]


@tool("create_file", ToolPermission.WRITES)
def create_file(arguments: CreateFileArguments, context: ToolContext) -> ToolOutcome:
    """Create a new file.

    Fails if there is one already: use edit_file to change it.
    """
    path = arguments.path
    if path_exists(context, path):
        raise ToolError(f"File already exists: {path}. Use edit_file to change it.")
    saved = create_text_file(context, create_file.name, path, arguments.content)
    lines = arguments.content.count("\n") + (not arguments.content.endswith("\n"))
    data = {"path": path, "lines": lines, "bytes": saved.size, "sha256": saved.sha256_after}
    return make_success(f"Created {path} ({saved.size} bytes)", data)


@dataclass(frozen=True, slots=True)
class DeleteFileArguments:
    """Which one."""

    path: Annotated[
        str, describe_argument("the file or link to delete; of a link, the link itself")
    ]


@tool("delete_file", ToolPermission.DELETES)
def delete_file(arguments: DeleteFileArguments, context: ToolContext) -> ToolOutcome:
    """Delete a single file or symbolic link.

    Not for directories.
    """
    path = arguments.path
    with context.root.reach_to_delete(path) as place:
        if place.status is None:
            raise ToolError(f"File not found: {path}")
        if place.is_folder:
            raise ToolError(f"{path} is a directory: use delete_path with recursive true.")
        _delete_entry(delete_file.name, place, arguments.path, context)
    return make_success(f"Deleted file: {path}", {"path": path})


@dataclass(frozen=True, slots=True)
class DeletePathArguments:
    """Which one, and whether a folder is meant."""

    path: Annotated[str, describe_argument("the file, link or folder to delete")]
    recursive: Annotated[
        bool, describe_argument("must be true for a folder: all in it goes too")
    ] = False


@tool("delete_path", ToolPermission.DELETES)
def delete_path(arguments: DeletePathArguments, context: ToolContext) -> ToolOutcome:
    """Delete a file, or with recursive true a directory and everything in it."""
    path = arguments.path
    with context.root.reach_to_delete(path) as place:
        if place.status is None:
            raise ToolError(f"Path not found: {path}")
        if place.is_folder and not arguments.recursive:
            raise ToolError(f"{path} is a directory: set recursive to true to delete all in it.")
        _delete_entry(delete_path.name, place, arguments.path, context)
        kind = "directory recursively" if place.is_folder else "file"
    return make_success(f"Deleted {kind}: {path}", {"path": path})


def _delete_entry(tool_name: str, place: ConfinedPath, path: str, context: ToolContext) -> None:
    try:
        context.journal.delete(tool_name, place)
    except OSError as error:
        raise ToolError(format_os_error(error, path)) from error


@dataclass(frozen=True, slots=True)
class MkdirArguments:
    """Where."""

    path: Annotated[str, describe_argument("the folder to make")]
    parents: Annotated[bool, describe_argument("make the folders on the way too")] = True
    exist_ok: Annotated[bool, describe_argument("a folder that is there already is no error")] = (
        False
    )


@tool("mkdir", ToolPermission.WRITES)
def mkdir(arguments: MkdirArguments, context: ToolContext) -> ToolOutcome:
    """Create a directory, with its parents if needed."""
    path = arguments.path
    with context.root.reach_to_write(path) as place:
        if place.status is not None:
            if arguments.exist_ok and place.is_folder:
                return make_success(f"Directory already exists: {path}", {"path": path})
            kind = "Directory" if place.is_folder else "File"
            raise ToolError(f"{kind} already exists: {path}")
        if place.missing and not arguments.parents:
            raise ToolError(f"The parent of {path} does not exist: set parents to true.")
        folders = (*list_missing_folders(place), place.path)
        try:
            with (
                context.journal.record_folders(mkdir.name, folders),
                place.create_missing_folders(place.name),
            ):
                pass
        except OSError as error:
            raise ToolError(format_os_error(error, path)) from error
    return make_success(f"Created directory: {path}", {"path": path})


_MAX_ENTRIES = 5_000

_BLOCK_BYTES = 512


@dataclass(frozen=True, slots=True)
class ListDirectoryArguments:
    """Which folder."""

    path: Annotated[str, describe_argument("the folder to list")] = "."
    show_hidden: Annotated[bool, describe_argument("names that begin with a dot, too")] = False
    recursive: Annotated[bool, describe_argument("the folders in it, too")] = False


@tool("list_directory", ToolPermission.READS)
def list_directory(arguments: ListDirectoryArguments, context: ToolContext) -> ToolOutcome:
    """List the files and directories in a folder, with sizes and dates, like ls -l."""
    lines: list[str] = []
    names = 0
    with context.root.reach(arguments.path) as place:
        if place.status is None:
            raise ToolError(f"Path not found: {arguments.path}")
        if not place.is_folder:
            raise ToolError(f"{arguments.path} is not a directory: use read_file.")
        try:
            for path, folder, entries in _walk_folders(place, arguments):
                if names >= _MAX_ENTRIES or context.cancel.is_cancelled:
                    lines.append(f"[... more than {_MAX_ENTRIES:,} entries: list one folder less]")
                    break
                if arguments.recursive:
                    lines += ["", f"{encode_path(path)}:"] if lines else [f"{arguments.path}:"]
                lines += _format_entries(folder, entries[: _MAX_ENTRIES - names])
                names += len(entries)
        except OSError as error:
            raise ToolError(format_os_error(error, arguments.path)) from error
    return make_success("\n".join(lines), {"entries": names})


# The path of a folder, its open handle, and its entries.
ListedFolder = tuple[str, FolderHandle, list["os.DirEntry[str]"]]


def _walk_folders(place: ConfinedPath, arguments: ListDirectoryArguments) -> Iterator[ListedFolder]:
    """Yield the folder and, with ``recursive``, those below it; links are not followed."""
    top = "/".join(place.parts)
    folder = place.open_folder()
    with OpenFolderStack(folder) as levels:
        entries = _list_entries(folder, arguments)
        yield top or ".", folder, entries
        pending = _list_subfolders(top, 0, entries) if arguments.recursive else []
        while pending:
            path, depth = pending.pop()
            folder = levels.enter(depth, path.rpartition("/")[2])
            entries = _list_entries(folder, arguments)
            yield path, folder, entries
            pending += _list_subfolders(path, depth + 1, entries)


def _list_entries(
    folder: FolderHandle, arguments: ListDirectoryArguments
) -> list["os.DirEntry[str]"]:
    entries = folder.entries()
    if arguments.show_hidden:
        return entries
    return [entry for entry in entries if not entry.name.startswith(".")]


def _list_subfolders(
    path: str, depth: int, entries: list["os.DirEntry[str]"]
) -> list[tuple[str, int]]:
    """The folders in a folder with its depth, the last first, to be taken from the end."""
    return [
        (f"{path}/{entry.name}" if path else entry.name, depth)
        for entry in reversed(entries)
        if entry.is_dir(follow_symlinks=False) and entry.name != ".git"
    ]


def _format_entries(folder: FolderHandle, entries: list["os.DirEntry[str]"]) -> list[str]:
    states = [(entry, entry.stat(follow_symlinks=False)) for entry in entries]
    blocks = sum(_count_blocks(status) for _, status in states)
    width = max((len(str(status.st_size)) for _, status in states), default=1)
    lines = (_format_entry(folder, entry, status, width) for entry, status in states)
    return [f"total {blocks // 2}", *lines]


def _format_entry(
    folder: FolderHandle, entry: "os.DirEntry[str]", status: os.stat_result, width: int
) -> str:
    changed = time.localtime(status.st_mtime)
    when = f"{time.strftime('%b', changed)} {changed.tm_mday:2} {time.strftime('%H:%M', changed)}"
    name = entry.name
    if entry.is_symlink():
        name += f" -> {folder.read_link(name)}"
    return (
        f"{stat.filemode(status.st_mode)} {status.st_nlink:2} {_get_user_name(status.st_uid)}"
        f" {_get_group_name(status.st_gid)} {status.st_size:{width}} {when} {encode_path(name)}"
    )


def _count_blocks(status: os.stat_result) -> int:
    """Return the blocks of 512 bytes on disk; computed on Windows, which does not report them."""
    return getattr(status, "st_blocks", -(-status.st_size // _BLOCK_BYTES))


@lru_cache(256)
def _get_user_name(number: int) -> str:
    try:
        import pwd  # noqa: PLC0415 - of POSIX alone
    except ImportError:
        return str(number)
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


@lru_cache(256)
def _get_group_name(number: int) -> str:
    try:
        import grp  # noqa: PLC0415 - of POSIX alone
    except ImportError:
        return str(number)
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)
