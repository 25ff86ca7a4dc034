"""How tools read, create and change text files.

Inside the root, recorded in the undo journal, atomically.
"""

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import ToolError, format_os_error
from codekernel.agent.workspace import atomic_write
from codekernel.agent.workspace.text_file import (
    TextFile,
    check_round_trip,
    hash_bytes,
    read_text_file,
    reject_surrogates,
)
from codekernel.domain.confinement.confined_path import ConfinedPath


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """Digests and size of a written file; ``sha256_before`` is empty for a new one."""

    sha256_before: str
    sha256_after: str
    size: int


def load_text_file(context: ToolContext, path: str) -> TextFile:
    """Read the text file at a path. Raises ToolError."""
    with context.root.reach(path) as place:
        return _load(context, place, path)


def load_for_edit(context: ToolContext, path: str) -> TextFile:
    """Read a file that may be changed and can be written back byte for byte. Raises ToolError."""
    with context.root.reach_to_write(path) as place:
        file = _load(context, place, path)
    check_round_trip(file)
    return file


def path_exists(context: ToolContext, path: str) -> bool:
    """Return whether something exists at a path."""
    with context.root.reach(path) as place:
        return place.status is not None


def encode_text(file: TextFile, text: str) -> bytes:
    """Encode a new text of a file. Raises ToolError if the encoding lacks a character."""
    return file.encoding.encode(text, file.display_path)


def save_text_file(context: ToolContext, tool: str, file: TextFile, text: str) -> WrittenFile:
    """Write a new text into a file. Raises ToolError, and changes nothing, if that is refused."""
    data = encode_text(file, text)
    if data != file.data:
        try:
            with (
                context.root.reach_real(file.path) as place,
                context.journal.record_edit(tool, file.path, file.data, data) as temporary,
            ):
                status = atomic_write.replace_file(place, data, file.status, temporary)
        except OSError as error:
            raise ToolError(format_os_error(error, file.display_path)) from error
        context.file_states.record(file.path, status)
    return WrittenFile(file.sha256, hash_bytes(data), len(data))


def create_text_file(context: ToolContext, tool: str, path: str, content: str) -> WrittenFile:
    """Create a file in UTF-8 with its missing folders. Raises ToolError if it exists."""
    reject_surrogates(content)
    data = content.encode()
    with context.root.reach_to_write(path) as place:
        try:
            status = _create(context, tool, place, data)
        except FileExistsError as error:
            raise ToolError(f"File already exists: {path}") from error
        except OSError as error:
            raise ToolError(format_os_error(error, path)) from error
        context.file_states.record(place.path, status)
    return WrittenFile("", hash_bytes(data), len(data))


def list_missing_folders(place: ConfinedPath) -> tuple[Path, ...]:
    """Return the folders that must be created for a path, outermost first."""
    missing = len(place.missing)
    return tuple(
        place.root_path.joinpath(*place.parts[:-number]) for number in range(missing, 0, -1)
    )


def _load(context: ToolContext, place: ConfinedPath, path: str) -> TextFile:
    file = read_text_file(place, path, context.limits.max_file_bytes)
    context.file_states.record(file.path, file.status)
    return file


def _create(context: ToolContext, tool: str, place: ConfinedPath, data: bytes) -> os.stat_result:
    if place.status is not None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    folders = list_missing_folders(place)
    with (
        context.journal.record_creation(tool, place.path, data, folders) as temporary,
        place.create_missing_folders() as parent,
    ):
        return atomic_write.create_file(parent, place.name, data, temporary)
