"""Read a git repository without calling git.

Its folders, the settings that decide what is ignored, its excludes and the paths its index
tracks. [include] is followed, [includeIf] is not.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from codekernel.domain.folder_handle import FolderHandle
from codekernel.files.ignore_rules import IgnoreRuleSet, parse_ignore_file

# A hostile rule file costs no more than this; git's own limit is 100 MB.
MAX_RULE_FILE_BYTES = 1_000_000

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)

# O_NONBLOCK: opening a pipe that has the name of a rule file must not wait for a writer.
_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


def read_regular_file(
    path: Path,
    *,
    follow_links: bool,
    max_bytes: int = MAX_RULE_FILE_BYTES,
    folder: FolderHandle | None = None,
) -> bytes | None:
    """Read a file; None if it does not exist, is no regular file, or exceeds ``max_bytes``.

    With ``follow_links`` it may be a link: in a work tree no rule file may, as in git.
    ``folder`` is its folder, if that is open.
    """
    try:
        if folder is not None:
            descriptor = folder.open_file(path.name)
        else:
            descriptor = os.open(path, _OPEN_FLAGS | (0 if follow_links else _NOFOLLOW))
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with open(descriptor, "rb", closefd=False) as file:  # a descriptor
            content = file.read(max_bytes + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return content if len(content) <= max_bytes else None


_SYSTEM_CONFIG = Path("/etc/gitconfig")

# As git: a file that includes itself ends somewhere.
_MAX_INCLUDE_DEPTH = 10

# One that includes itself often would otherwise be read that often to the power of ten.
MAX_INCLUDED_FILES = 100

_CONFIG_SECTION = re.compile(r'\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')

_CONFIG_KEY = re.compile(r"\s*([A-Za-z][\w-]*)\s*(=?)\s*")

_TRUE_VALUES = {"", "true", "yes", "on", "1"}

_CONFIG_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}

GitSettings = Mapping[str, str]


def read_git_settings(repository_config: Path | None) -> dict[str, str]:
    """Settings by ``section.key`` in lower case: the system's, the user's, the repository's."""
    settings: dict[str, str] = {}
    for path in [*_list_config_files(), *([repository_config] if repository_config else [])]:
        settings.update(_read_config(path, 0, iter(range(MAX_INCLUDED_FILES))))
    return settings


def find_excludes_file(settings: GitSettings, top: Path) -> Path | None:
    """The user's own ignore file for all repositories; None without a home and a setting."""
    if (named := settings.get("core.excludesfile")) is not None:
        return top / _expand_home(named) if named else None
    folder = _find_config_folder()
    return folder / "ignore" if folder else None


def is_setting_true(settings: GitSettings, key: str) -> bool:
    """Whether a setting exists and is true."""
    return key in settings and settings[key].lower() in _TRUE_VALUES


def _list_config_files() -> Iterator[Path]:
    if os.name == "posix" and not os.environ.get("GIT_CONFIG_NOSYSTEM"):
        yield _SYSTEM_CONFIG
    chosen = os.environ.get("GIT_CONFIG_GLOBAL")
    if chosen is not None:
        yield Path(chosen)
        return
    if folder := _find_config_folder():
        yield folder / "config"
    if home := _find_home():
        yield home / ".gitconfig"


def _find_home() -> Path | None:
    home = os.environ.get("HOME") or (os.environ.get("USERPROFILE") if os.name == "nt" else None)
    return Path(home) if home else None


def _find_config_folder() -> Path | None:
    if chosen := os.environ.get("XDG_CONFIG_HOME"):
        return Path(chosen, "git")
    home = _find_home()
    return home / ".config" / "git" if home else None


def _expand_home(path: str) -> str:
    home = _find_home()
    return str(home / path[2:]) if home and path.startswith("~/") else path


def _read_config(path: Path, depth: int, budget: Iterator[int]) -> dict[str, str]:
    """Settings of one file and those it includes; ``budget`` has an item for each of these."""
    content = read_regular_file(path, follow_links=True)
    settings: dict[str, str] = {}
    for key, value in _parse_config((content or b"").decode(errors="surrogateescape")):
        if key == "include.path" and depth < _MAX_INCLUDE_DEPTH and next(budget, None) is not None:
            settings.update(_read_config(path.parent / _expand_home(value), depth + 1, budget))
        settings[key] = value
    return settings


def _parse_config(content: str) -> Iterator[tuple[str, str]]:
    section = ""
    lines = iter(content.removeprefix("\ufeff").split("\n"))
    for line in lines:
        rest = line.strip()
        if header := _CONFIG_SECTION.match(rest):
            section = ".".join(part for part in header.groups() if part is not None).lower()
            rest = rest[header.end() :].strip()
        if key := _CONFIG_KEY.match(rest):
            value = _parse_config_value(rest[key.end() :], lines) if key[2] else "true"
            yield f"{section}.{key[1].lower()}", value


def _parse_config_value(text: str, more: Iterator[str]) -> str:
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
            value.append(_CONFIG_ESCAPES.get(text[position], text[position]))
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


# Some 100 bytes per file: more than three million files.
MAX_INDEX_BYTES = 400_000_000

_INDEX_SIGNATURE = b"DIRC"

_INDEX_HEADER_BYTES = 12

# Times, device, inode, mode, owner and size, before the object's name.
_ENTRY_STATUS_BYTES = 40

# The byte of the mode that holds the type of an entry; a folder is only in a sparse index.
_TYPE_OFFSET, _TYPE_MASK, _FOLDER_TYPE = 26, 0xF0, 0x40

_EXTENDED_FLAG = 0x40

_ENTRY_PADDING = 8

_PREFIX_COMPRESSED_VERSION = 4

_INDEX_VERSIONS = (2, 3, 4)

_LINK_EXTENSION = b"link"


@dataclass(frozen=True, slots=True)
class TrackedPaths:
    """Paths from the top of a repository as byte text, without a slash at the end."""

    paths: frozenset[str]  # files and submodules
    folders: frozenset[str]  # that hold something tracked


def read_tracked_paths(git_dir: Path, hash_bytes: int) -> TrackedPaths:
    """Return what the index in ``git_dir`` lists; nothing if it is missing or malformed."""
    try:
        paths = frozenset(_read_index_paths(git_dir, "index", hash_bytes))
    except (ValueError, IndexError):
        paths = frozenset()
    folders: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return TrackedPaths(paths, frozenset(folders))


def _read_index_paths(git_dir: Path, name: str, hash_bytes: int) -> Iterator[str]:
    data = read_regular_file(git_dir / name, follow_links=True, max_bytes=MAX_INDEX_BYTES) or b""
    version = int.from_bytes(data[4:8], "big")
    if data[:4] != _INDEX_SIGNATURE or version not in _INDEX_VERSIONS:
        raise ValueError(f"{git_dir / name} is no index of a version that is known")
    count = int.from_bytes(data[8:12], "big")
    fixed = _ENTRY_STATUS_BYTES + hash_bytes + 2
    begin = _INDEX_HEADER_BYTES
    path = b""
    for _ in range(count):
        name_at = begin + fixed + (2 if data[begin + fixed - 2] & _EXTENDED_FLAG else 0)
        kept, padding = 0, _ENTRY_PADDING
        if version == _PREFIX_COMPRESSED_VERSION:
            dropped, name_at = _read_offset(data, name_at)
            kept, padding = len(path) - dropped, 1
        end = data.index(b"\0", name_at)
        path = path[:kept] + data[name_at:end]
        if data[begin + _TYPE_OFFSET] & _TYPE_MASK != _FOLDER_TYPE and path:
            yield path.decode("latin-1")
        begin += (end - begin + padding) // padding * padding
    if data[begin : begin + 4] == _LINK_EXTENSION:
        shared = data[begin + 8 : begin + 8 + hash_bytes].hex()
        if int(shared, 16):
            yield from _read_index_paths(git_dir, f"sharedindex.{shared}", hash_bytes)


def _read_offset(data: bytes, position: int) -> tuple[int, int]:
    """A number of as many bytes as it needs, as git packs it, and where it ends."""
    byte = data[position]
    value = byte & 0x7F
    while byte & 0x80:
        position += 1
        byte = data[position]
        value = (value + 1 << 7) | (byte & 0x7F)
    return value, position + 1


_DOT_GIT = ".git"

_GITDIR_PREFIX = b"gitdir:"

_SHA1_BYTES, _SHA256_BYTES = 20, 32


class GitRepository:
    """The repository whose work tree is ``top``.

    ``base`` is how many characters of a path name its top, with the slash.
    """

    def __init__(self, top: Path, git_dir: Path, base: int) -> None:
        self.base_length = base
        self._git_dir = git_dir
        self.common_dir = find_common_dir(git_dir)
        settings = read_git_settings(self.common_dir / "config")
        self.fold_case = is_setting_true(settings, "core.ignorecase")
        sha256 = settings.get("extensions.objectformat", "").lower() == "sha256"
        self._hash_bytes = _SHA256_BYTES if sha256 else _SHA1_BYTES
        # In order of precedence.
        self.exclude_rules = (
            *parse_ignore_file(
                read_regular_file(self.common_dir / "info" / "exclude", follow_links=True),
                ".git/info/exclude",
                base=base,
                fold_case=self.fold_case,
            ),
            *read_user_excludes(settings, top, base, fold_case=self.fold_case),
        )

    @cached_property
    def tracked_paths(self) -> TrackedPaths:
        """What git tracks; read once something is ignored."""
        return read_tracked_paths(self._git_dir, self._hash_bytes)


def read_user_excludes(
    settings: dict[str, str], top: Path, base: int, *, fold_case: bool
) -> tuple[IgnoreRuleSet, ...]:
    """The rules that the user has for all repositories."""
    path = find_excludes_file(settings, top)
    content = read_regular_file(path, follow_links=True) if path else None
    return parse_ignore_file(content, f"the global excludes {path}", base=base, fold_case=fold_case)


def find_git_dir(top: Path) -> Path | None:
    """The folder with git's files for a work tree; None if ``top`` is not the top of one.

    In a linked work tree and in a submodule ``.git`` is a file with their path.
    """
    dot_git = top / _DOT_GIT
    content = read_regular_file(dot_git, follow_links=True)
    if content is None:
        return dot_git if _is_git_dir(dot_git) else None
    if not content.startswith(_GITDIR_PREFIX):
        return None
    named = os.fsdecode(content.removeprefix(_GITDIR_PREFIX).strip())
    try:
        git_dir = Path(os.path.realpath(top / named))
    except ValueError:  # a NUL in the name
        return None
    return git_dir if _is_git_dir(git_dir) else None


def find_work_tree_top(folder: Path) -> Path | None:
    """The top of the work tree around ``folder``, itself included, on the same disk as git asks."""
    with suppress(OSError):
        device = folder.stat().st_dev
        for candidate in [folder, *folder.parents]:
            if candidate.stat().st_dev != device:
                break
            if find_git_dir(candidate):
                return candidate
    return None


def find_common_dir(git_dir: Path) -> Path:
    """What all work trees of a repository share; its own folder for an ordinary repository."""
    named = read_regular_file(git_dir / "commondir", follow_links=True)
    return Path(os.path.realpath(git_dir / os.fsdecode(named.strip()) if named else git_dir))


def _is_git_dir(folder: Path) -> bool:
    try:
        return os.path.lexists(folder / "HEAD") and (
            (folder / "commondir").is_file()
            or ((folder / "objects").is_dir() and (folder / "refs").is_dir())
        )
    except OSError:
        return False
