"""How tools read, change, make files: within the root, noted in the journal, atomically."""

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from kernel.agent import writing
from kernel.agent.context import ToolContext
from kernel.agent.failing import ToolFailed, said_by_system
from kernel.agent.text_file import (
    TextFile,
    digest,
    must_be_text,
    must_come_back,
    read_text,
)
from kernel.domain.confinement.beneath import Place


@dataclass(frozen=True, slots=True)
class Saved:
    """What a file was and is; ``sha256_before`` is empty for a new one."""

    sha256_before: str
    sha256_after: str
    size: int


def load(context: ToolContext, path: str) -> TextFile:
    """The text file that a path leads to; ToolFailed says why not."""
    with context.root.reach(path) as place:
        return _loaded(context, place, path)


def load_to_write(context: ToolContext, path: str) -> TextFile:
    """The same, if the file may be changed and would come back byte for byte."""
    with context.root.reach_to_write(path) as place:
        file = _loaded(context, place, path)
    must_come_back(file)
    return file


def exists(context: ToolContext, path: str) -> bool:
    """Whether there is something where a path leads."""
    with context.root.reach(path) as place:
        return place.status is not None


def encoded(file: TextFile, text: str) -> bytes:
    """The bytes that another text would be saved as; ToolFailed if the encoding lacks some."""
    return file.encoding.encode(text, file.shown)


def save(context: ToolContext, tool: str, file: TextFile, text: str) -> Saved:
    """Write another text into a file; ToolFailed, and nothing is changed, if that is refused."""
    data = encoded(file, text)
    if data != file.data:
        try:
            with (
                context.root.reach_real(file.path) as place,
                context.journal.changing(tool, file.path, file.data, data) as temporary,
            ):
                status = writing.replace(place, data, file.status, temporary)
        except OSError as error:
            raise ToolFailed(said_by_system(error, file.shown)) from error
        context.seen.note(file.path, status)
    return Saved(file.sha256, digest(data), len(data))


def create(context: ToolContext, tool: str, path: str, content: str) -> Saved:
    """Make a new file in UTF-8, and the folders on the way; ToolFailed if there is one."""
    must_be_text(content)
    data = content.encode()
    with context.root.reach_to_write(path) as place:
        try:
            status = _made(context, tool, place, data)
        except FileExistsError as error:
            raise ToolFailed(f"File already exists: {path}") from error
        except OSError as error:
            raise ToolFailed(said_by_system(error, path)) from error
        context.seen.note(place.path, status)
    return Saved("", digest(data), len(data))


def missing_folders(place: Place) -> tuple[Path, ...]:
    """The folders that must be made to have something at a place, outermost first."""
    missing = len(place.missing)
    return tuple(place.top.joinpath(*place.parts[:-number]) for number in range(missing, 0, -1))


def _loaded(context: ToolContext, place: Place, path: str) -> TextFile:
    file = read_text(place, path, context.limits.file_bytes)
    context.seen.note(file.path, file.status)
    return file


def _made(context: ToolContext, tool: str, place: Place, data: bytes) -> os.stat_result:
    if place.status is not None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    folders = missing_folders(place)
    with (
        context.journal.creating(tool, place.path, data, folders) as temporary,
        place.folders_made() as parent,
    ):
        return writing.create(parent, place.name, data, temporary)
