"""Where programs keep their settings on this machine: templates of paths become paths.

~/x             the home folder
$NAME/x         only if this environment variable is set, and then nothing else counts
{xdg}/x         $XDG_CONFIG_HOME or ~/.config, on every system
{config}/x      the same on Linux; ~/Library/Application Support on macOS, %APPDATA% on Windows
{roaming}/x     {xdg} on Linux and macOS, %APPDATA% on Windows
win32:...       only on this system
x               below the folder of a project
"""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


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
