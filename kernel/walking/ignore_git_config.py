"""The few settings of git that decide what is ignored, read from its files without calling git.

``[include]`` is followed; ``[includeIf]`` is not: whoever chooses other excludes for some
repositories that way has them in .git/info/exclude or .codekernelignore here.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from kernel.walking.ignore_files import read_plain_file

_SYSTEM_CONFIG = Path("/etc/gitconfig")
# As git: a file that includes itself ends somewhere.
_DEEPEST_INCLUDE = 10
# One that includes itself often would otherwise be read that often to the power of ten.
MAX_INCLUDED_FILES = 100
_SECTION = re.compile(r'\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_KEY = re.compile(r"\s*([A-Za-z][\w-]*)\s*(=?)\s*")
_TRUE = {"", "true", "yes", "on", "1"}
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}

Settings = Mapping[str, str]


def git_settings(repository_config: Path | None) -> dict[str, str]:
    """Settings by ``section.key`` in lower case: the system's, the user's, the repository's."""
    settings: dict[str, str] = {}
    for path in [*_config_files(), *([repository_config] if repository_config else [])]:
        settings.update(_read(path, 0, iter(range(MAX_INCLUDED_FILES))))
    return settings


def excludes_file(settings: Settings, top: Path) -> Path | None:
    """The user's own ignore file for all repositories; None without a home and a setting."""
    named = settings.get("core.excludesfile")
    if named is not None:
        return top / _at_home(named) if named else None
    folder = _config_folder()
    return folder / "ignore" if folder else None


def is_true(settings: Settings, key: str) -> bool:
    """Whether a setting is there and says yes."""
    return key in settings and settings[key].lower() in _TRUE


def _config_files() -> Iterator[Path]:
    if os.name == "posix" and not os.environ.get("GIT_CONFIG_NOSYSTEM"):
        yield _SYSTEM_CONFIG
    chosen = os.environ.get("GIT_CONFIG_GLOBAL")
    if chosen is not None:
        yield Path(chosen)
        return
    if folder := _config_folder():
        yield folder / "config"
    if home := _home():
        yield home / ".gitconfig"


def _home() -> Path | None:
    home = os.environ.get("HOME") or (os.environ.get("USERPROFILE") if os.name == "nt" else None)
    return Path(home) if home else None


def _config_folder() -> Path | None:
    if chosen := os.environ.get("XDG_CONFIG_HOME"):
        return Path(chosen, "git")
    home = _home()
    return home / ".config" / "git" if home else None


def _at_home(path: str) -> str:
    home = _home()
    return str(home / path[2:]) if home and path.startswith("~/") else path


def _read(path: Path, depth: int, budget: Iterator[int]) -> dict[str, str]:
    """Settings of one file and those it includes; ``budget`` has an item for each of these."""
    content = read_plain_file(path, follow=True)
    settings: dict[str, str] = {}
    for key, value in _entries((content or b"").decode(errors="surrogateescape")):
        if key == "include.path" and depth < _DEEPEST_INCLUDE and next(budget, None) is not None:
            settings.update(_read(path.parent / _at_home(value), depth + 1, budget))
        settings[key] = value
    return settings


def _entries(content: str) -> Iterator[tuple[str, str]]:
    section = ""
    lines = iter(content.removeprefix("\ufeff").split("\n"))
    for line in lines:
        rest = line.strip()
        if header := _SECTION.match(rest):
            section = ".".join(part for part in header.groups() if part is not None).lower()
            rest = rest[header.end() :].strip()
        key = _KEY.match(rest)
        if key and not rest.startswith(("#", ";")):
            value = _value(rest[key.end() :], lines) if key[2] else "true"
            yield f"{section}.{key[1].lower()}", value


def _value(text: str, more: Iterator[str]) -> str:
    """A value without its quotes, escapes and comment; a line may go on in the next."""
    value: list[str] = []
    kept = position = 0
    quoted = False
    while position < len(text):
        character = text[position]
        position += 1
        if character == "\\":
            if position == len(text):  # goes on in the next line
                text, position = next(more, ""), 0
                continue
            value.append(_ESCAPES.get(text[position], text[position]))
            position += 1
        elif character == '"':
            quoted = not quoted
        elif character in "#;" and not quoted:
            break
        else:
            value.append(character)
            if character.isspace() and not quoted:
                continue
        kept = len(value)
    return "".join(value[:kept])
