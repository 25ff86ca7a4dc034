"""How tools read, create and change text files.

Inside the root, recorded in the undo journal, atomically.
"""

import errno
import os
from pathlib import Path
from typing import Protocol

from codekernel.agent.edit_review import explain_trimmed
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import ToolError, ToolLimits, translate_os_errors
from codekernel.agent.workspace.atomic_write import create_file, replace_file
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.agent.workspace.text_file import (
    FileStates,
    TextFile,
    check_round_trip,
    read_text_file,
    reject_surrogates,
)
from codekernel.domain.confined_path import ConfinedPath


class ReadingContext(Protocol):
    """What reading needs of a context."""

    @property
    def root(self) -> WorkspaceRoot:
        """The folder that files are read in."""

    @property
    def limits(self) -> ToolLimits:
        """How large a file may be."""

    @property
    def file_states(self) -> FileStates:
        """Which files were read, and as they were."""


def load_text_file(context: ReadingContext, path: str) -> TextFile:
    """Read the text file at a path. Raises ToolError."""
    with context.root.reach(path) as place:
        return _load(context, place, path)


def load_for_edit(context: ToolContext, path: str) -> TextFile:
    """Read a file that may be changed and can be written back byte for byte. Raises ToolError."""
    with context.root.reach_to_write(path) as place:
        file = _load(context, place, path)
    check_round_trip(file)
    return file


def load_if_exists(context: ToolContext, path: str) -> TextFile | None:
    """Read a file as ``load_for_edit`` does; None if there is nothing, and a file may be made."""
    with context.root.reach_to_write(path) as place:
        exists = place.status is not None
    return load_for_edit(context, path) if exists else None


def path_exists(context: ReadingContext, path: str) -> bool:
    """Return whether something exists at a path."""
    with context.root.reach(path) as place:
        return place.status is not None


def encode_text(file: TextFile | None, text: str) -> bytes:
    """Encode a new text of a file. Raises ToolError if the encoding lacks a character."""
    return file.encoding.encode(text, file.display_path) if file else text.encode()


def write_text_file(
    context: ToolContext, tool: str, path: str, file: TextFile | None, text: str
) -> None:
    """Write a new text into a file that was loaded, or make the file in UTF-8 if it is None.

    Its missing folders are made too. Raises ToolError, and changes nothing, if that is refused.
    """
    if file is None:
        create_text_file(context, tool, path, text)
        return
    wanted = text
    if context.review and encode_text(file, text) != file.data:
        text = context.review(tool, file.display_path, file.text, wanted)
    if (data := encode_text(file, text)) != file.data:
        with (
            translate_os_errors(file.display_path),
            context.root.reach_real(file.path) as place,
            context.journal.record_write(tool, file.path, file.data, data) as temporary,
        ):
            status = replace_file(place, data, file.status, temporary)
        context.file_states.record(file.path, status)
    if text != wanted:
        raise explain_trimmed(file.display_path, file.text, wanted, text)


def create_text_file(context: ToolContext, tool: str, path: str, content: str) -> bytes:
    """Create a file in UTF-8 with its missing folders; return what is in it.

    Raises ToolError if it exists.
    """
    reject_surrogates(content)
    data = content.encode()
    if context.review and not path_exists(context, path):
        context.review(tool, path, None, content)
    with context.root.reach_to_write(path) as place, translate_os_errors(path):
        try:
            status = _create(context, tool, place, data)
        except FileExistsError as error:
            raise ToolError(f"File already exists: {path}") from error
        context.file_states.record(place.path, status)
    return data


def list_missing_folders(place: ConfinedPath) -> tuple[Path, ...]:
    """Return the folders that must be created for a path, outermost first."""
    missing = range(len(place.missing), 0, -1)
    return tuple(place.root_path.joinpath(*place.parts[:-number]) for number in missing)


def _load(context: ReadingContext, place: ConfinedPath, path: str) -> TextFile:
    file = read_text_file(place, path, context.limits.max_file_bytes)
    context.file_states.record(file.path, file.status)
    return file


def _create(context: ToolContext, tool: str, place: ConfinedPath, data: bytes) -> os.stat_result:
    if place.status is not None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    folders = list_missing_folders(place)
    with (
        context.journal.record_write(tool, place.path, None, data, folders) as temporary,
        place.create_missing_folders() as parent,
    ):
        return create_file(parent, place.name, data, temporary)
