"""The packages of a repository, found by their manifests: what ``scope:`` names.

A package is called as its manifest says, and as its folder; a folder without one is a scope, too.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from codekernel.search.filters import Filters, build_unknown_value_error

if TYPE_CHECKING:
    from codekernel.search.searchable import SearchableCatalog

# A manifest is short; a longer file of that name is something else.
MAX_MANIFEST_CHARS = 200_000

_PARENT = re.compile(r"<parent>.*?</parent>", re.DOTALL)


def _read_json_name(text: str) -> str:
    return _find_text(json.loads(text), "name")


def _read_toml_name(text: str) -> str:
    content = tomllib.loads(text)
    tables = [content.get("project"), content.get("package"), content.get("tool", {}).get("poetry")]
    return next(filter(None, (_find_text(table, "name") for table in tables)), "")


def _find_text(table: Any, key: str) -> str:
    value = table.get(key) if isinstance(table, dict) else None
    return value if isinstance(value, str) else ""


def _match_name(pattern: str) -> Callable[[str], str]:
    compiled = re.compile(pattern, re.MULTILINE)

    def read(text: str) -> str:
        found = compiled.search(_PARENT.sub("", text))
        return found[1] if found else ""

    return read


# What reads the name of the package in a manifest.
MANIFESTS: Mapping[str, Callable[[str], str]] = {
    "package.json": _read_json_name,
    "composer.json": _read_json_name,
    "pyproject.toml": _read_toml_name,
    "Cargo.toml": _read_toml_name,
    "go.mod": _match_name(r"^module\s+(\S+)"),
    "pom.xml": _match_name(r"<artifactId>\s*([^<\s]+)\s*</artifactId>"),
    "pubspec.yaml": _match_name(r"^name:\s*[\"']?([\w.-]+)"),
    "mix.exs": _match_name(r"\bapp:\s*:(\w+)"),
    "setup.py": _match_name(r"\bname\s*=\s*[\"']([^\"'\n]+)[\"']"),
    "setup.cfg": _match_name(r"^name\s*=\s*(\S+)"),
    "build.gradle": _match_name(r"^(?!)"),
    "build.gradle.kts": _match_name(r"^(?!)"),
    "Package.swift": _match_name(r"Package\(\s*name:\s*\"([^\"\n]+)\""),
}

# The package is called as the file.
MANIFEST_SUFFIXES = (".gemspec", ".csproj", ".fsproj", ".vbproj", ".cabal", ".rockspec")


@dataclass(frozen=True, slots=True)
class PackageScope:
    """A package: its folder in the repository, "" for the root, and what it is called."""

    folder: str
    names: tuple[str, ...]

    def is_called(self, value: str) -> bool:
        """Return whether a name or a glob means this package."""
        wanted = value.strip("/").lower().replace("[", "[[]")
        return any(fnmatchcase(name.lower(), wanted) for name in self.names)


def list_scopes(paths: Iterable[str], read_text: Callable[[str], str]) -> list[PackageScope]:
    """Return the packages among the files, by their folders."""
    names: dict[str, dict[str, None]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        if name in MANIFESTS or name.endswith(MANIFEST_SUFFIXES):
            own = folder.rpartition("/")[2]
            found = names.setdefault(folder, dict.fromkeys(filter(None, (folder, own))))
            declared = _read_declared_name(name, lambda path=path: read_text(path))  # type: ignore[misc]
            found |= dict.fromkeys(filter(None, (declared, declared.rpartition("/")[2])))
    return [PackageScope(folder, tuple(names[folder])) for folder in sorted(names)]


def _read_declared_name(name: str, read_text: Callable[[], str]) -> str:
    if name.endswith(MANIFEST_SUFFIXES):
        return name.rpartition(".")[0]
    with suppress(ValueError, AttributeError, RecursionError):  # it is no manifest
        return MANIFESTS[name](read_text()[:MAX_MANIFEST_CHARS])
    return ""


def resolve_scopes(filters: Filters, catalog: "SearchableCatalog") -> Filters:
    """Return filters whose scopes are folders. Raises WrongParam for one that nothing has."""
    if not filters.scopes and not filters.not_scopes:
        return filters
    files = catalog.list_files()
    if may := filters.is_readable:  # what is near would name what may not be read
        files = {path: file for path, file in files.items() if may(path)}
    scopes = list_scopes(files, lambda path: catalog.read_document(files[path].id))

    def resolve(value: str) -> list[str]:
        found = [scope.folder for scope in scopes if scope.is_called(value)]
        folder = value.strip("/")
        if not found and any(path.startswith(f"{folder}/") for path in files):
            return [folder]
        if not found:
            names = [name for scope in scopes for name in scope.names]
            message = f'no package here is called "{value}", and no folder'
            raise build_unknown_value_error(message, value, names)
        return found

    return replace(
        filters,
        scopes=tuple(folder for value in filters.scopes for folder in resolve(value)),
        not_scopes=tuple(folder for value in filters.not_scopes for folder in resolve(value)),
    )
