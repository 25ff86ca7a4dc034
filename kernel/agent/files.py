"""How tools read, change, make files: within the root, noted in the journal, atomically."""

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


@dataclass(frozen=True, slots=True)
class Saved:
    """What a file was and is; ``sha256_before`` is empty for a new one."""

    sha256_before: str
    sha256_after: str
    size: int


def load(context: ToolContext, path: str) -> TextFile:
    """The text file that a path leads to; ToolFailed says why not."""
    real = context.root.path(path)
    file = read_text(real, path, context.limits.file_bytes)
    context.seen.note(real, file.status)
    return file


def load_to_write(context: ToolContext, path: str) -> TextFile:
    """The same, if the file may be changed and would come back byte for byte."""
    context.root.to_write(path)
    file = load(context, path)
    must_come_back(file)
    return file


def exists(context: ToolContext, path: str) -> bool:
    """Whether there is something where a path leads."""
    return context.root.path(path).exists()


def encoded(file: TextFile, text: str) -> bytes:
    """The bytes that another text would be saved as; ToolFailed if the encoding lacks some."""
    return file.encoding.encode(text, file.shown)


def save(context: ToolContext, tool: str, file: TextFile, text: str) -> Saved:
    """Write another text into a file; ToolFailed, and nothing is changed, if that is refused."""
    data = encoded(file, text)
    if data != file.data:
        try:
            with context.journal.changing(tool, file.path, file.data, data):
                status = writing.replace(file.path, data, file.status)
        except OSError as error:
            raise ToolFailed(said_by_system(error, file.shown)) from error
        context.seen.note(file.path, status)
    return Saved(file.sha256, digest(data), len(data))


def create(context: ToolContext, tool: str, path: str, content: str) -> Saved:
    """Make a new file in UTF-8, and the folders on the way; ToolFailed if there is one."""
    must_be_text(content)
    real = context.root.to_write(path)
    data = content.encode()
    folders = missing_folders(real.parent)
    try:
        with context.journal.creating(tool, real, data, folders):
            status = _made(real, data, folders)
    except FileExistsError as error:
        raise ToolFailed(f"File already exists: {path}") from error
    except OSError as error:
        raise ToolFailed(said_by_system(error, path)) from error
    context.seen.note(real, status)
    return Saved("", digest(data), len(data))


def missing_folders(folder: Path) -> tuple[Path, ...]:
    """The folders that must be made to have this one, outermost first."""
    missing = []
    while not folder.exists() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    return tuple(reversed(missing))


def make_folders(folders: tuple[Path, ...]) -> None:
    """Make them in this order, or none of them. Raises OSError."""
    made: list[Path] = []
    try:
        for folder in folders:
            folder.mkdir()
            made.append(folder)
    except OSError:
        for folder in reversed(made):
            folder.rmdir()
        raise


def _made(path: Path, data: bytes, folders: tuple[Path, ...]) -> os.stat_result:
    make_folders(folders)
    try:
        return writing.create(path, data)
    except OSError:
        for folder in reversed(folders):
            folder.rmdir()
        raise
