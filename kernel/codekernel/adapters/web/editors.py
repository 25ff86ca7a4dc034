"""Open a file of a repository in the user's editor at a line.

Choice of the editor, program lookup in PATH, and launching. electron-bridge/app/src/editors.js does
the same for the desktop app, with the same table of editors.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codekernel.adapters.web import threads
from codekernel.adapters.web.page_api import EDITORS, WINDOWS_PROGRAMS
from codekernel.domain.untrusted_text import resolve_encoded_path
from codekernel.errors import InvalidPath, WrongParam

# Returns the full path of a program, if it is installed.
ProgramFinder = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class EditorCommand:
    """An editor, ready to be started."""

    editor: str
    program: str
    arguments: list[str]


def find_editor_command(
    file: str, line: int, environ: Mapping[str, str], find: ProgramFinder
) -> EditorCommand | None:
    """Return the user's own choice, else the first of the table that is installed."""
    for name, program, arguments in _read_preferences(environ):
        if found := find(program):
            template = EDITORS.get(name, ("{file}",))
            return EditorCommand(name, found, [*arguments, *_fill_in(template, file, line)])
    for name, template in EDITORS.items():
        if found := find(name):
            return EditorCommand(name, found, _fill_in(template, file, line))
    return None


def _fill_in(template: Sequence[str], file: str, line: int) -> list[str]:
    return [argument.format(file=file, line=line) for argument in template]


def _read_preferences(environ: Mapping[str, str]) -> list[tuple[str, str, list[str]]]:
    """Return what the environment names: name, program, arguments.

    CODEKERNEL_EDITOR is taken at its word; VISUAL and EDITOR are often meant for a terminal.
    """
    own = _parse_preference(environ.get("CODEKERNEL_EDITOR", ""))
    usual = [_parse_preference(environ.get(name, "")) for name in ("VISUAL", "EDITOR")]
    return [*own[:1], *(wish for found in usual for wish in found if wish[0] in EDITORS)]


def _parse_preference(command: str) -> list[tuple[str, str, list[str]]]:
    words = [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', command)]
    if not words or not words[0]:
        return []
    name = re.sub(r"\.exe$", "", re.split(r"[\\/]", words[0])[-1], flags=re.IGNORECASE)
    return [(name, words[0], words[1:])]


# Not passed on to editors: one of them may be the vault's key.
_PRIVATE_ENV_PREFIX = "CODEKERNEL_"

QUERY_TIMEOUT_SECONDS = 5.0


def make_program_finder(environ: Mapping[str, str]) -> ProgramFinder:
    """Return a function that looks programs up in PATH."""
    # A relative folder in PATH is the repository's to choose, if we were started there.
    folders = [
        Path(folder)
        for folder in (environ.get("PATH") or environ.get("Path") or "").split(os.pathsep)
        if folder and Path(folder).is_absolute()
    ]

    def find(program: str) -> str | None:
        places = [Path(program)]
        if not places[0].is_absolute():
            places = [folder / name for folder in folders for name in _list_file_names(program)]
        return next((str(place) for place in places if _is_executable(place)), None)

    return find


def launch_detached(command: EditorCommand, environ: Mapping[str, str]) -> None:
    """Start a program and do not wait for it. Raises OSError."""
    process = subprocess.Popen(  # noqa: S603 - the user's own editor
        [command.program, *command.arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={
            name: value
            for name, value in environ.items()
            if not name.startswith(_PRIVATE_ENV_PREFIX)
        },
        start_new_session=True,
    )
    threads.start_thread("editor", process.wait, threads.log_crash)  # or it would stay as a zombie


def find_text_opener(file: str, find: ProgramFinder) -> EditorCommand | None:
    """Return the system's own editor for text, when no editor is known.

    Not the system's opener for that file: it would run a script or a .bat that somebody has put
    into the repository.
    """
    if sys.platform == "darwin":
        return EditorCommand("open -t", "/usr/bin/open", ["-t", file])
    if os.name == "nt":
        return EditorCommand("notepad", "notepad.exe", [file])
    query, program = find("xdg-mime"), find("gtk-launch")
    entry = _run_for_output([query, "query", "default", "text/plain"]) if query and program else ""
    if not program or not entry.endswith(".desktop") or set(entry) & set("/ \n"):
        return None
    return EditorCommand(entry.removesuffix(".desktop"), program, [entry, file])


def _run_for_output(command: Sequence[str]) -> str:
    try:
        finished = subprocess.run(  # noqa: S603 - named above
            command, capture_output=True, text=True, timeout=QUERY_TIMEOUT_SECONDS, check=True
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return finished.stdout.strip()


def _list_file_names(program: str) -> list[str]:
    """Return the names of a program's file in, or beside, a folder of PATH."""
    if os.name != "nt":
        return [program]
    own = program if program.lower().endswith(".exe") else f"{program}.exe"
    beside = WINDOWS_PROGRAMS.get(program)
    return [own, f"..\\{beside}"] if beside else [own]


def _is_executable(place: Path) -> bool:
    return place.is_file() and os.access(place, os.X_OK)


def open_in_editor(
    root: str, file_path: object, line: object, environ: Mapping[str, str]
) -> dict[str, str]:
    """Open a file and return in which editor; ``line`` counts from 1. Raises KernelError."""
    file = str(resolve_file_inside(Path(root), file_path))
    number = line if isinstance(line, int) and line > 0 else 1
    find = make_program_finder(environ)
    command = find_editor_command(file, number, environ, find) or find_text_opener(file, find)
    if command is None:
        raise InvalidPath(
            f"No editor was found; looked for {', '.join(EDITORS)}. "
            "Set CODEKERNEL_EDITOR to the command of yours."
        )
    try:
        launch_detached(command, environ)
    except OSError as error:
        raise InvalidPath(f"{command.editor} cannot be started: {error.strerror}") from error
    return {"editor": command.editor}


def can_open_editor(environ: Mapping[str, str]) -> bool:
    """Return whether there is a program to open a file in; pages show a button only then."""
    find, file = make_program_finder(environ), os.path.abspath("any.txt")  # noqa: PTH100 - need not be there
    return bool(find_editor_command(file, 1, environ, find) or find_text_opener(file, find))


def resolve_file_inside(root: Path, file_path: object) -> Path:
    """Return the real path of a file of the repository; raises KernelError if it is outside."""
    if not isinstance(file_path, str) or not file_path or "\0" in file_path:
        raise WrongParam("openInEditor needs the filePath of a file.")
    try:
        folder = Path(os.path.realpath(root, strict=True))
        file = Path(os.path.realpath(folder / resolve_encoded_path(folder, file_path), strict=True))
    except OSError as error:
        raise InvalidPath(f"{file_path} is not there any more.") from error
    if folder not in file.parents:
        raise InvalidPath(f"{file_path} is not inside the repository.")
    if not file.is_file():
        raise InvalidPath(f"{file_path} is not a file.")
    return file
