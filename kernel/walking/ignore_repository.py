"""A git repository as far as ignoring goes: where its files lie, its excludes, what it tracks."""

import os
from functools import cached_property
from pathlib import Path

from kernel.walking.ignore_files import read_plain_file
from kernel.walking.ignore_git_config import excludes_file, git_settings, is_true
from kernel.walking.ignore_git_index import Tracked, read_tracked
from kernel.walking.ignore_rules import RuleSet, rule_sets

_GIT = ".git"
_POINTER = b"gitdir:"
_SHA1_BYTES, _SHA256_BYTES = 20, 32


class Repository:
    """The repository whose work tree is ``top``.

    ``base`` is how many characters of a path name its top, with the slash.
    """

    def __init__(self, top: Path, git_dir: Path, base: int) -> None:
        self.base = base
        self._git_dir = git_dir
        self.common_dir = common_dir_of(git_dir)
        settings = git_settings(self.common_dir / "config")
        self.fold_case = is_true(settings, "core.ignorecase")
        sha256 = settings.get("extensions.objectformat", "").lower() == "sha256"
        self._hash_bytes = _SHA256_BYTES if sha256 else _SHA1_BYTES
        # In the order in which they are asked.
        self.excludes = (
            *rule_sets(
                read_plain_file(self.common_dir / "info" / "exclude", follow=True),
                ".git/info/exclude",
                base=base,
                fold_case=self.fold_case,
            ),
            *user_excludes(settings, top, base, fold_case=self.fold_case),
        )

    @cached_property
    def tracked(self) -> Tracked:
        """What git tracks; read when first asked, that is once something is ignored."""
        return read_tracked(self._git_dir, self._hash_bytes)


def user_excludes(
    settings: dict[str, str], top: Path, base: int, *, fold_case: bool
) -> tuple[RuleSet, ...]:
    """The rules that the user has for all repositories."""
    path = excludes_file(settings, top)
    content = read_plain_file(path, follow=True) if path else None
    return rule_sets(content, f"the global excludes {path}", base=base, fold_case=fold_case)


def git_dir_of(top: Path) -> Path | None:
    """The folder with git's files for a work tree; None if ``top`` is not the top of one.

    In a linked work tree and in a submodule ``.git`` is a file that says where they are.
    """
    dot_git = top / _GIT
    content = read_plain_file(dot_git, follow=True)
    if content is None:
        return dot_git if _is_git_dir(dot_git) else None
    if not content.startswith(_POINTER):
        return None
    named = os.fsdecode(content.removeprefix(_POINTER).strip())
    try:
        git_dir = Path(os.path.realpath(top / named))
    except ValueError:  # a NUL in the name
        return None
    return git_dir if _is_git_dir(git_dir) else None


def enclosing_top(folder: Path) -> Path | None:
    """The top of the work tree around ``folder``, itself included, on the same disk as git asks."""
    try:
        device = folder.stat().st_dev
        for candidate in [folder, *folder.parents]:
            if candidate.stat().st_dev != device:
                return None
            if git_dir_of(candidate):
                return candidate
    except OSError:
        return None
    return None


def common_dir_of(git_dir: Path) -> Path:
    """What all work trees of a repository share; its own folder for an ordinary repository."""
    named = read_plain_file(git_dir / "commondir", follow=True)
    return Path(os.path.realpath(git_dir / os.fsdecode(named.strip()) if named else git_dir))


def _is_git_dir(folder: Path) -> bool:
    try:
        return os.path.lexists(folder / "HEAD") and (
            (folder / "commondir").is_file()
            or ((folder / "objects").is_dir() and (folder / "refs").is_dir())
        )
    except OSError:
        return False
