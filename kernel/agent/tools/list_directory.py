"""list_directory: what lies in a folder, as ``ls -l`` prints it."""

import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from kernel.agent.context import ToolContext
from kernel.agent.failing import said_by_system
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
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
    folder = context.root.path(arguments.path)
    if not folder.exists():
        raise ToolFailed(f"Path not found: {arguments.path}")
    if not folder.is_dir():
        raise ToolFailed(f"{arguments.path} is not a directory: use read_file.")
    lines: list[str] = []
    names = 0
    try:
        for place, entries in _folders(folder, arguments):
            if names >= _MOST_ENTRIES or context.cancel.cancelled:
                lines.append(f"[... more than {_MOST_ENTRIES:,} entries: list one folder less]")
                break
            if arguments.recursive:
                lines += (
                    ["", f"{encode_path(context.root.shown(place))}:"]
                    if lines
                    else [f"{arguments.path}:"]
                )
            lines += _listed(entries[: _MOST_ENTRIES - names])
            names += len(entries)
    except OSError as error:
        raise ToolFailed(said_by_system(error, arguments.path)) from error
    return done("\n".join(lines), {"entries": names})


def _folders(
    folder: Path, arguments: ListDirectory
) -> Iterator[tuple[Path, list["os.DirEntry[str]"]]]:
    """The folder and, if wanted, those below it, links not followed."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    if not arguments.show_hidden:
        entries = [entry for entry in entries if not entry.name.startswith(".")]
    yield folder, entries
    if arguments.recursive:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and entry.name != ".git":
                yield from _folders(Path(entry.path), arguments)


def _listed(entries: list["os.DirEntry[str]"]) -> list[str]:
    states = [(entry, entry.stat(follow_symlinks=False)) for entry in entries]
    blocks = sum(_blocks(status) for _, status in states)
    width = max((len(str(status.st_size)) for _, status in states), default=1)
    return [f"total {blocks // 2}", *(_line(entry, status, width) for entry, status in states)]


def _line(entry: "os.DirEntry[str]", status: os.stat_result, width: int) -> str:
    changed = time.localtime(status.st_mtime)
    when = f"{time.strftime('%b', changed)} {changed.tm_mday:2} {time.strftime('%H:%M', changed)}"
    name = entry.name
    if entry.is_symlink():
        name += f" -> {os.readlink(entry.path)}"  # noqa: PTH115 - beside os.scandir
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
