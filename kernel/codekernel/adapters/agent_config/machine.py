"""Where programs of this machine keep their settings, and the command that starts our server."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from codekernel import __version__
from codekernel.storage.user_data import UserData, locate_user_data


@dataclass(frozen=True, slots=True)
class MachineFolders:
    """What templates of paths depend on."""

    home: Path
    environ: Mapping[str, str]
    platform: str

    @classmethod
    def of_this_machine(cls) -> "MachineFolders":
        """Return those of the account that runs this. Raises RuntimeError if it has no home."""
        return cls(Path.home(), os.environ, sys.platform)

    def choose_path(self, templates: Iterable[str], project: Path | None = None) -> Path | None:
        """Return the first path that exists, else the first; None if no template applies.

        A template whose environment variable is set is chosen at once.
        """
        paths = []
        for template, path in self._resolve_all(templates, project):
            if "$" in template:
                return path
            paths.append(path)
        return next((path for path in paths if os.path.lexists(path)), paths[0] if paths else None)

    def has_any(self, templates: Iterable[str], project: Path | None = None) -> bool:
        """Return whether something lies at one of the paths."""
        return any(path.exists() for _, path in self._resolve_all(templates, project))

    def find_program(self, names: Iterable[str]) -> bool:
        """Return whether one of these programs is on the path."""
        return any(shutil.which(name, path=self.environ.get("PATH", "")) for name in names)

    def _resolve_all(
        self, templates: Iterable[str], project: Path | None
    ) -> Iterator[tuple[str, Path]]:
        for template in templates:
            path = self._resolve(template, project)
            if path is not None:
                yield template, path

    def _resolve(self, template: str, project: Path | None) -> Path | None:
        platform, _, rest = template.rpartition(":")
        if platform and platform != self.platform:
            return None
        first, _, below = rest.partition("/")
        if first.startswith("$"):
            value = self.environ.get(first[1:])
            return Path(value, below) if value else None
        if first == "~":
            return self.home / below
        if first.startswith("{"):
            return self._find_settings_folder(first[1:-1]) / below
        return project / rest if project else None

    def _find_settings_folder(self, kind: str) -> Path:
        if self.platform == "win32" and kind != "xdg":
            return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")
        if self.platform == "darwin" and kind == "config":
            return self.home / "Library" / "Application Support"
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")


PROGRAM = "codekernel"

# In the cache of uv, which may be emptied any time: folders of ``uvx``.
_CACHED_FOLDERS = frozenset({"archive-v0", "environments-v2"})


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """A program and its arguments."""

    program: str
    arguments: tuple[str, ...]

    def with_repository(self, folder: str) -> "ServerCommand":
        """Return the command for the repository in a folder; the client may replace a variable."""
        return replace(self, arguments=(*self.arguments, "--repo", folder))


def find_user_command(environ: Mapping[str, str], user_data: UserData) -> ServerCommand:
    """Return the command for this machine; userData is named if it is not in its usual place.

    The agent has another environment, and would begin a second index elsewhere.
    """
    program, first = _find_installed_program(environ)
    arguments = (*first, "mcp")
    if user_data != locate_user_data(None, {}):
        arguments += ("--user-data", str(user_data.root))
    return ServerCommand(program, arguments)


def make_project_command() -> ServerCommand:
    """Return the command for everybody who works on a project."""
    return ServerCommand(PROGRAM, ("mcp",))


def _find_installed_program(environ: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    if _CACHED_FOLDERS.intersection(Path(sys.prefix).parts):
        uvx = shutil.which("uvx", path=environ.get("PATH")) or "uvx"
        return uvx, (f"{PROGRAM}=={__version__}",)
    suffix = ".exe" if os.name == "nt" else ""
    script = Path(sysconfig.get_path("scripts"), PROGRAM + suffix)
    if not script.exists():
        return sys.executable, ("-m", PROGRAM)
    # A link to it, as of pipx, uv and Homebrew, survives an update that moves the program.
    found = shutil.which(PROGRAM, path=environ.get("PATH"))
    if found and os.path.realpath(found) == os.path.realpath(script):
        return os.path.abspath(found), ()  # noqa: PTH100 - keeps the link
    return str(script), ()
