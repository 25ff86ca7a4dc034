"""A file of a repository in the person's editor, at a line; nothing outside the repository."""

import os
from collections.abc import Mapping
from pathlib import Path

from kernel.domain.path_text import existing_path
from kernel.doors.web.editors import EDITORS, editor_command
from kernel.doors.web.programs import finder, launch, text_opener
from kernel.errors import InvalidPath, WrongParam


def open_in_editor(
    root: str, file_path: object, line: object, environ: Mapping[str, str]
) -> dict[str, str]:
    """Open it and say in which editor; ``line`` counts from 1. Raises KernelError."""
    file = str(file_inside(Path(root), file_path))
    number = line if isinstance(line, int) and line > 0 else 1
    find = finder(environ)
    command = editor_command(file, number, environ, find) or text_opener(file, find)
    if command is None:
        raise InvalidPath(
            f"No editor was found; looked for {', '.join(EDITORS)}. "
            "Set CODEKERNEL_EDITOR to the command of yours."
        )
    try:
        launch(command, environ)
    except OSError as error:
        raise InvalidPath(f"{command.editor} cannot be started: {error.strerror}") from error
    return {"editor": command.editor}


def can_open_editor(environ: Mapping[str, str]) -> bool:
    """Whether there is a program to open a file in; asked before a button is shown for it."""
    find, file = finder(environ), os.path.abspath("any.txt")  # noqa: PTH100 - need not be there
    return bool(editor_command(file, 1, environ, find) or text_opener(file, find))


def file_inside(root: Path, file_path: object) -> Path:
    """The file's real place, which is inside the repository's; links are followed first."""
    if not isinstance(file_path, str) or not file_path or "\0" in file_path:
        raise WrongParam("openInEditor needs the filePath of a file.")
    try:
        folder = Path(os.path.realpath(root, strict=True))
        file = Path(os.path.realpath(folder / existing_path(folder, file_path), strict=True))
    except OSError as error:
        raise InvalidPath(f"{file_path} is not there any more.") from error
    if folder not in file.parents:
        raise InvalidPath(f"{file_path} is not inside the repository.")
    if not file.is_file():
        raise InvalidPath(f"{file_path} is not a file.")
    return file
