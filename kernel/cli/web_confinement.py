"""Whether the person's browser runs in a sandbox (snap, Flatpak) that cannot read our files."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

_ANSWER_SECONDS = 5.0
_SNAP_APPLICATIONS = "/var/lib/snapd/desktop"
_MARKS = ("X-SnapInstanceName", "X-Flatpak")
_FOLDERS = ("/snap/", "/flatpak/", "/snapd/")


def is_confined(environ: Mapping[str, str]) -> bool:
    """Whether the browser that would be opened is known to be in a sandbox."""
    if sys.platform in {"win32", "darwin"}:
        return False
    if environ.get("BROWSER"):
        return _is_in_sandbox(environ["BROWSER"].split(os.pathsep)[0])
    desktop = _default_browser(environ)
    if desktop:
        return any(_is_sandbox_entry(file) for file in _entries(desktop, environ))
    return _is_in_sandbox("x-www-browser")


def _is_in_sandbox(command: str) -> bool:
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    program = shutil.which(words[0]) if words else None
    if program is None:
        return False
    real = os.path.realpath(program)
    return Path(real).name in {"snap", "flatpak"} or any(
        part in path for part in _FOLDERS for path in (program, real)
    )


def _default_browser(environ: Mapping[str, str]) -> str:
    """The name of the .desktop file of the default browser; empty if nobody knows."""
    program = shutil.which("xdg-settings")
    if program is None:
        return ""
    try:
        said = subprocess.run(  # noqa: S603 - a question of ours
            [program, "get", "default-web-browser"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environ),
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    name = said.stdout.decode(errors="replace").strip()
    return name if name.endswith(".desktop") and os.sep not in name else ""


def _entries(desktop: str, environ: Mapping[str, str]) -> Iterator[Path]:
    home = Path(environ.get("HOME") or "/")
    folders = [
        environ.get("XDG_DATA_HOME") or str(home / ".local" / "share"),
        *(environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":"),
        _SNAP_APPLICATIONS,
    ]
    return (Path(folder, "applications", desktop) for folder in folders if folder)


def _is_sandbox_entry(file: Path) -> bool:
    try:
        content = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any(mark in content for mark in _MARKS) or any(part in str(file) for part in _FOLDERS)
