"""create_file, delete_file, delete_path, mkdir and list_directory.

Deleted entries are kept in the undo journal.
"""

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

from codekernel.agent.tool import ToolContext, ToolOutcome, make_success, tool
from codekernel.agent.tool_policy import ToolError, ToolPermission, translate_os_errors
from codekernel.agent.tools.file_access import create_text_file, list_missing_folders, path_exists
from codekernel.agent.workspace.text_file import hash_bytes
from codekernel.domain.confined_path import ConfinedPath, OpenFolderStack
from codekernel.domain.folder_handle import FolderHandle
from codekernel.domain.untrusted_text import encode_path

if sys.platform != "win32":
    import grp
    import pwd


@dataclass(frozen=True, slots=True)
class CreateFileArguments:
    """Where, and what is in it.

    path: the file to make
    content: its text, written exactly so, in UTF-8
    """

    path: str
    content: str


@tool("create_file", ToolPermission.WRITES)
def create_file(arguments: CreateFileArguments, context: ToolContext) -> ToolOutcome:
    """Create a new file.

    Fails if there is one already: use edit_file to change it.
    """
    path = arguments.path
    if path_exists(context, path):
        raise ToolError(f"File already exists: {path}. Use edit_file to change it.")
    written = create_text_file(context, create_file.name, path, arguments.content)
    lines = arguments.content.count("\n") + (not arguments.content.endswith("\n"))
    size = len(written)
    data = {"path": path, "lines": lines, "bytes": size, "sha256": hash_bytes(written)}
    return make_success(f"Created {path} ({size} bytes)", data)


@dataclass(frozen=True, slots=True)
class DeleteFileArguments:
    """Which one.

    path: the file or link to delete; of a link, the link itself
    """

    path: str


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
        with translate_os_errors(path):
            context.journal.delete(delete_file.name, place)
    return make_success(f"Deleted file: {path}", {"path": path})


@dataclass(frozen=True, slots=True)
class DeletePathArguments:
    """Which one, and whether a folder is meant.

    path: the file, link or folder to delete
    recursive: must be true for a folder: all in it goes too
    """

    path: str
    recursive: bool = False


@tool("delete_path", ToolPermission.DELETES)
def delete_path(arguments: DeletePathArguments, context: ToolContext) -> ToolOutcome:
    """Delete a file, or with recursive true a directory and everything in it."""
    path = arguments.path
    with context.root.reach_to_delete(path) as place:
        if place.status is None:
            raise ToolError(f"Path not found: {path}")
        if place.is_folder and not arguments.recursive:
            raise ToolError(f"{path} is a directory: set recursive to true to delete all in it.")
        with translate_os_errors(path):
            context.journal.delete(delete_path.name, place)
        kind = "directory recursively" if place.is_folder else "file"
    return make_success(f"Deleted {kind}: {path}", {"path": path})


@dataclass(frozen=True, slots=True)
class MkdirArguments:
    """Where.

    path: the folder to make
    parents: make the folders on the way too
    exist_ok: a folder that is there already is no error
    """

    path: str
    parents: bool = True
    exist_ok: bool = False


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
        with (
            translate_os_errors(path),
            context.journal.record_folders(mkdir.name, folders),
            place.create_missing_folders(place.name),
        ):
            pass
    return make_success(f"Created directory: {path}", {"path": path})


_MAX_ENTRIES = 5_000

_BLOCK_BYTES = 512


@dataclass(frozen=True, slots=True)
class ListDirectoryArguments:
    """Which folder.

    path: the folder to list
    show_hidden: names that begin with a dot, too
    recursive: the folders in it, too
    """

    path: str = "."
    show_hidden: bool = False
    recursive: bool = False


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
        with translate_os_errors(arguments.path):
            for path, folder, entries in _walk_folders(place, arguments):
                if names >= _MAX_ENTRIES or context.cancel.is_cancelled:
                    lines.append(f"[... more than {_MAX_ENTRIES:,} entries: list one folder less]")
                    break
                if arguments.recursive:
                    lines += ["", f"{encode_path(path)}:"] if lines else [f"{arguments.path}:"]
                lines += _format_entries(folder, entries[: _MAX_ENTRIES - names])
                names += len(entries)
    return make_success("\n".join(lines), {"entries": names})


Entries = list["os.DirEntry[str]"]


def _walk_folders(
    place: ConfinedPath, arguments: ListDirectoryArguments
) -> Iterator[tuple[str, FolderHandle, Entries]]:
    """Yield path, handle and entries of the folder and, with ``recursive``, of those below it.

    Links are not followed.
    """
    folder = place.open_folder()
    with OpenFolderStack(folder) as levels:
        pending = [("/".join(place.parts), -1)]
        while pending:
            path, depth = pending.pop()
            if depth >= 0:
                folder = levels.enter(depth, path.rpartition("/")[2])
            entries = [
                entry
                for entry in folder.entries()
                if arguments.show_hidden or not entry.name.startswith(".")
            ]
            yield path or ".", folder, entries
            pending += [
                (f"{path}/{entry.name}".lstrip("/"), depth + 1)
                for entry in (reversed(entries) if arguments.recursive else ())
                if entry.is_dir(follow_symlinks=False) and entry.name != ".git"
            ]


def _format_entries(folder: FolderHandle, entries: Entries) -> Iterator[str]:
    states = [(entry, entry.stat(follow_symlinks=False)) for entry in entries]
    # Windows does not report blocks.
    blocks = (
        getattr(status, "st_blocks", -(-status.st_size // _BLOCK_BYTES)) for _, status in states
    )
    yield f"total {sum(blocks) // 2}"
    width = max((len(str(status.st_size)) for _, status in states), default=1)
    for entry, status in states:
        changed = time.localtime(status.st_mtime)
        month, clock = time.strftime("%b", changed), time.strftime("%H:%M", changed)
        target = f" -> {folder.read_link(entry.name)}" if entry.is_symlink() else ""
        yield (
            f"{stat.filemode(status.st_mode)} {status.st_nlink:2}"
            f" {_format_owner(status.st_uid, status.st_gid)} {status.st_size:{width}}"
            f" {month} {changed.tm_mday:2} {clock} {encode_path(entry.name + target)}"
        )


@lru_cache(256)
def _format_owner(user: int, group: int) -> str:
    """Return the names of user and group, or their numbers where they have none, as on Windows."""
    names = [str(user), str(group)]
    if sys.platform != "win32":
        with suppress(KeyError):
            names[0] = pwd.getpwuid(user).pw_name
        with suppress(KeyError):
            names[1] = grp.getgrgid(group).gr_name
    return " ".join(names)
