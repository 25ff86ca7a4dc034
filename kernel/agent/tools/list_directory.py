"""list_directory: what lies in a folder, as ``ls -l`` prints it."""

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from kernel.agent.context import ToolContext
from kernel.agent.failing import said_by_system
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.domain.confinement.beneath import Place
from kernel.domain.confinement.folder_handle import FolderHandle
from kernel.domain.confinement.open_levels import OpenLevels
from kernel.domain.path_text import encode_path
from kernel.protocol.tool_arguments import about

_MOST_ENTRIES = 5_000
_BLOCK_BYTES = 512


@dataclass(frozen=True, slots=True)
class ListDirectory:
    """Which folder."""

    path: Annotated[str, about("the folder to list")] = "."
    show_hidden: Annotated[bool, about("names that begin with a dot, too")] = False
    recursive: Annotated[bool, about("the folders in it, too")] = False


def _run(arguments: ListDirectory, context: ToolContext) -> Outcome:
    lines: list[str] = []
    names = 0
    with context.root.reach(arguments.path) as place:
        if place.status is None:
            raise ToolFailed(f"Path not found: {arguments.path}")
        if not place.is_folder:
            raise ToolFailed(f"{arguments.path} is not a directory: use read_file.")
        try:
            for path, folder, entries in _folders(place, arguments):
                if names >= _MOST_ENTRIES or context.cancel.cancelled:
                    lines.append(f"[... more than {_MOST_ENTRIES:,} entries: list one folder less]")
                    break
                if arguments.recursive:
                    lines += ["", f"{encode_path(path)}:"] if lines else [f"{arguments.path}:"]
                lines += _listed(folder, entries[: _MOST_ENTRIES - names])
                names += len(entries)
        except OSError as error:
            raise ToolFailed(said_by_system(error, arguments.path)) from error
    return done("\n".join(lines), {"entries": names})


# The path of a folder, the folder while it is held open, and what lies in it.
Listed = tuple[str, FolderHandle, list["os.DirEntry[str]"]]


def _folders(place: Place, arguments: ListDirectory) -> Iterator[Listed]:
    """The folder and, if wanted, those below it, links not followed."""
    top = "/".join(place.parts)
    folder = place.open_folder()
    with OpenLevels(folder) as levels:
        entries = _entries(folder, arguments)
        yield top or ".", folder, entries
        pending = _below(top, 0, entries) if arguments.recursive else []
        while pending:
            path, depth = pending.pop()
            folder = levels.enter(depth, path.rpartition("/")[2])
            entries = _entries(folder, arguments)
            yield path, folder, entries
            pending += _below(path, depth + 1, entries)


def _entries(folder: FolderHandle, arguments: ListDirectory) -> list["os.DirEntry[str]"]:
    entries = folder.entries()
    if arguments.show_hidden:
        return entries
    return [entry for entry in entries if not entry.name.startswith(".")]


def _below(path: str, depth: int, entries: list["os.DirEntry[str]"]) -> list[tuple[str, int]]:
    """The folders in a folder with its depth, the last first, to be taken from the end."""
    return [
        (f"{path}/{entry.name}" if path else entry.name, depth)
        for entry in reversed(entries)
        if entry.is_dir(follow_symlinks=False) and entry.name != ".git"
    ]


def _listed(folder: FolderHandle, entries: list["os.DirEntry[str]"]) -> list[str]:
    states = [(entry, entry.stat(follow_symlinks=False)) for entry in entries]
    blocks = sum(_blocks(status) for _, status in states)
    width = max((len(str(status.st_size)) for _, status in states), default=1)
    lines = (_line(folder, entry, status, width) for entry, status in states)
    return [f"total {blocks // 2}", *lines]


def _line(
    folder: FolderHandle, entry: "os.DirEntry[str]", status: os.stat_result, width: int
) -> str:
    changed = time.localtime(status.st_mtime)
    when = f"{time.strftime('%b', changed)} {changed.tm_mday:2} {time.strftime('%H:%M', changed)}"
    name = entry.name
    if entry.is_symlink():
        name += f" -> {folder.read_link(name)}"
    return (
        f"{stat.filemode(status.st_mode)} {status.st_nlink:2} {_user(status.st_uid)}"
        f" {_group(status.st_gid)} {status.st_size:{width}} {when} {encode_path(name)}"
    )


def _blocks(status: os.stat_result) -> int:
    """Blocks of 512 bytes on disk; Windows does not say."""
    return getattr(status, "st_blocks", -(-status.st_size // _BLOCK_BYTES))


@lru_cache(256)
def _user(number: int) -> str:
    try:
        import pwd  # noqa: PLC0415 - of POSIX alone
    except ImportError:
        return str(number)
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


@lru_cache(256)
def _group(number: int) -> str:
    try:
        import grp  # noqa: PLC0415 - of POSIX alone
    except ImportError:
        return str(number)
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


TOOL = Tool(
    name="list_directory",
    purpose="List the files and directories in a folder, with sizes and dates, like ls -l.",
    arguments=ListDirectory,
    danger=Danger.READS,
    run=_run,
)
