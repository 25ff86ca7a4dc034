"""Carry out the calls of pages that take more than one request, or none: settings, keys, editor.

A file is opened in the user's editor at a line, as electron-bridge/app/src does it for the desktop
app, with the same table of editors; cases that both must answer alike are in
tests/fixtures/web_hosts.json.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codekernel import __version__
from codekernel.adapters.web.kernel_client import CallFailed, KernelClient, log_crash
from codekernel.adapters.web.page_api import EDITORS, WINDOWS_PROGRAMS
from codekernel.client.settings_saver import SettingsSaver
from codekernel.domain.concurrency import start_thread
from codekernel.domain.untrusted_text import resolve_encoded_path
from codekernel.errors import InvalidPath, WrongParam
from codekernel.protocol import MAIN_SESSION_ID

# Their reply may be too long for memory; they have no fields (see kernel_client.LongData).
CALLS_WITHOUT_FIELDS = frozenset({"getChunksInfo"})


def has_api_key(kernel: KernelClient, name: object) -> bool:
    """Return whether a key is stored under this name; the key itself stays here."""
    try:
        kernel.request(MAIN_SESSION_ID, "getApiKey", {"name": name})
    except CallFailed as error:
        if error.code == "API_KEY_NOT_FOUND":
            return False
        raise
    return True


def check_fields(fields: object) -> dict[str, Any]:
    """Return the fields of a call. Raises CallFailed."""
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise CallFailed("WRONG_PARAM", "The fields of a request are an object.")
    return fields


_UNAVAILABLE_CALLS = {
    "chooseFolder": "A browser cannot choose a folder of this machine: type its path.",
    "openWindow": "In a browser a page goes to another page by itself.",
    "showProgress": "A browser has no place in the taskbar to show progress in.",
    "copyText": "In a browser a page copies by itself.",
    "restartKernel": "Start codekernel web again in a terminal.",
}


@dataclass(frozen=True, slots=True)
class HostCalls:
    """The host calls of every tab; ``folder`` is where the host was started, or empty."""

    settings_saver: SettingsSaver
    folder: str
    environ: Mapping[str, str]

    def carry_out(self, call: str, fields: dict[str, Any], get_root: Callable[[], str]) -> Any:
        """Carry out a call; ``get_root`` returns the folder of the tab's repository."""
        match call:
            case "hostInfo":
                return self._get_info()
            case "saveSettings":
                return self.settings_saver.save(fields.get("settings"))
            case "openInEditor":
                path, line = fields.get("filePath"), fields.get("line")
                return open_in_editor(get_root(), path, line, self.environ)
            case _:
                raise WrongParam(_UNAVAILABLE_CALLS[call])

    def _get_info(self) -> dict[str, Any]:
        return {
            "kind": "browser",
            "platform": sys.platform,
            "version": __version__,
            "locale": detect_locale(self.environ),
            "canChooseFolder": False,
            "canOpenEditor": can_open_editor(self.environ),
            "folder": self.folder,
        }


def detect_locale(environ: Mapping[str, str]) -> str:
    """Return the user's language as pages name it: zh_CN.UTF-8 -> zh-CN; empty if not set."""
    names = (environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    language = next((name for name in names if name), "").partition(".")[0].partition("@")[0]
    return "" if language in {"C", "POSIX"} else language.replace("_", "-")


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
    known = ((name, name, list[str]()) for name in EDITORS)
    for name, program, arguments in (*_read_preferences(environ), *known):
        if found := find(program):
            template = EDITORS.get(name, ("{file}",))
            filled = [argument.format(file=file, line=line) for argument in template]
            return EditorCommand(name, found, [*arguments, *filled])
    return None


def _read_preferences(environ: Mapping[str, str]) -> list[tuple[str, str, list[str]]]:
    """Return what the environment names: name, program, arguments.

    CODEKERNEL_EDITOR is taken at its word; VISUAL and EDITOR are often meant for a terminal.
    """
    own = _parse_preference(environ.get("CODEKERNEL_EDITOR", ""))
    usual = [_parse_preference(environ.get(name, "")) for name in ("VISUAL", "EDITOR")]
    return [*own, *(wish for found in usual for wish in found if wish[0] in EDITORS)]


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
    passed_on = [pair for pair in environ.items() if not pair[0].startswith(_PRIVATE_ENV_PREFIX)]
    process = subprocess.Popen(
        [command.program, *command.arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(passed_on),
        start_new_session=True,
    )
    start_thread("editor", process.wait, log_crash)  # or it would stay as a zombie


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
        finished = subprocess.run(
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
    find, file = make_program_finder(environ), __file__  # or any other one
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
