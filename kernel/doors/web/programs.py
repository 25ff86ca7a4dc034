"""Programs of this machine: where they are, and how to start one that outlives us."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernel.doors.web import threads
from kernel.doors.web.editors import Command, Find

# A .cmd cannot be started without a shell, which would read file names as commands; the program
# itself lies beside the folder that has it.
_WINDOWS_PROGRAMS = {
    "code": "Code.exe",
    "cursor": "Cursor.exe",
    "windsurf": "Windsurf.exe",
    "code-insiders": "Code - Insiders.exe",
    "codium": "VSCodium.exe",
}
# Meant for us, and one of them may be the vault's key.
_OURS = "CODEKERNEL_"
ASKED_SECONDS = 5.0


def finder(environ: Mapping[str, str]) -> Find:
    """Look programs up in PATH."""
    # A relative folder in PATH is the repository's to choose, if we were started there.
    folders = [
        Path(folder)
        for folder in (environ.get("PATH") or environ.get("Path") or "").split(os.pathsep)
        if folder and Path(folder).is_absolute()
    ]

    def find(program: str) -> str | None:
        places = [Path(program)]
        if not places[0].is_absolute():
            places = [folder / name for folder in folders for name in _names(program)]
        return next((str(place) for place in places if _can_run(place)), None)

    return find


def launch(command: Command, environ: Mapping[str, str]) -> None:
    """Start a program and let it be; raises OSError if it cannot be started."""
    process = subprocess.Popen(  # noqa: S603 - a program of the person's own, given a file's name
        [command.program, *command.arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={name: value for name, value in environ.items() if not name.startswith(_OURS)},
        start_new_session=True,
    )
    threads.start("editor", process.wait, threads.log_crash)  # or it would stay as a zombie


def text_opener(file: str, find: Find) -> Command | None:
    """The system's own editor for text, when no editor is known.

    Not the system's opener for that file: it would run a script or a .bat that somebody has put
    into the repository.
    """
    if sys.platform == "darwin":
        return Command("open -t", "/usr/bin/open", ["-t", file])
    if os.name == "nt":
        return Command("notepad", "notepad.exe", [file])
    query, program = find("xdg-mime"), find("gtk-launch")
    entry = _said([query, "query", "default", "text/plain"]) if query and program else ""
    if not program or not entry.endswith(".desktop") or set(entry) & set("/ \n"):
        return None
    return Command(entry.removesuffix(".desktop"), program, [entry, file])


def _said(command: Sequence[str]) -> str:
    try:
        asked = subprocess.run(  # noqa: S603 - named above
            command, capture_output=True, text=True, timeout=ASKED_SECONDS, check=True
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return asked.stdout.strip()


def _names(program: str) -> list[str]:
    """What a program's file may be called in, or beside, a folder of PATH."""
    if os.name != "nt":
        return [program]
    own = program if program.lower().endswith(".exe") else f"{program}.exe"
    beside = _WINDOWS_PROGRAMS.get(program)
    return [own, f"..\\{beside}"] if beside else [own]


def _can_run(place: Path) -> bool:
    return place.is_file() and os.access(place, os.X_OK)
