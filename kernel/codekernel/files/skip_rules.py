"""Decide for each entry of a folder whether it is indexed, entered or skipped, and why.

Order: names never entered; .codekernelignore, deepest first; an excluded parent; paths git tracks;
.gitignore files, deepest first; .git/info/exclude and the user's excludes; without git, known
dependency folders.
"""

import os
import stat
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from codekernel.domain.confinement.folder_handle import FolderHandle
from codekernel.domain.source_files import FoundFile, SkippedPath, SkipReason
from codekernel.domain.word_sets import word_set
from codekernel.files.file_filters import reject_by_name, reject_by_size
from codekernel.files.git_repository import (
    GitRepository,
    find_common_dir,
    find_git_dir,
    read_git_settings,
    read_regular_file,
    read_user_excludes,
)
from codekernel.files.ignore_patterns import to_byte_text
from codekernel.files.ignore_rules import IgnoreRuleSet, parse_ignore_file

# Never entered, git or not: the data of version control and of this program's front end.
NEVER_INDEXED_NAMES = frozenset({".git", ".hg", ".svn", ".PocketRAG"})

_DEPENDENCY_FOLDERS = word_set(
    """
    node_modules bower_components jspm_packages __pycache__ __pypackages__ .venv .tox .nox .eggs
    .mypy_cache .pytest_cache .ruff_cache .hypothesis .ipynb_checkpoints .gradle .next .nuxt
    .svelte-kit .parcel-cache .turbo .terraform .dart_tool .stack-work .zig-cache zig-cache
    elm-stuff DerivedData
    """
)

# Common words, so only beside a file that identifies the tool.
_FOLDERS_WITH_MARKER_BESIDE: dict[str, tuple[str, ...]] = {
    "target": ("Cargo.toml", "pom.xml", "build.sbt"),
    "build": ("build.gradle", "build.gradle.kts", "CMakeLists.txt", "setup.py", "pubspec.yaml"),
    "dist": ("package.json", "setup.py", "pyproject.toml"),
    "vendor": ("composer.json", "go.mod", "Gemfile"),
    "Pods": ("Podfile",),
    "deps": ("mix.exs",),
    "_build": ("mix.exs", "rebar.config", "dune-project"),
    "dist-newstyle": ("cabal.project",),
    "bin": (".csproj", ".fsproj"),
    "obj": (".csproj", ".fsproj"),
}

# Files that identify the folder they are in.
_MARKERS_INSIDE = ("pyvenv.cfg", "CACHEDIR.TAG")


def describe_known_folder(parent: str, name: str) -> str | None:
    """Return why a folder holds dependencies or build output; None if it may hold sources."""
    if name in _DEPENDENCY_FOLDERS:
        return f"built-in rule for folders without git: {name}/"
    for sign in _MARKERS_INSIDE:
        if os.path.lexists(os.path.join(parent, name, sign)):  # noqa: PTH118  # in the walk's loop
            return f"built-in rule for folders without git: a folder with {sign}"
    signs = _FOLDERS_WITH_MARKER_BESIDE.get(name)
    if signs:
        try:
            beside = os.listdir(parent)  # noqa: PTH208  # only names are needed
        except OSError:
            return None
        for found in beside:
            if found in signs or os.path.splitext(found)[1] in signs:  # noqa: PTH122  # a name
                return f"built-in rule for folders without git: {name}/ beside {found}"
    return None


GITIGNORE, CODEKERNELIGNORE, DOT_GIT = ".gitignore", ".codekernelignore", ".git"

RULE_FILE_NAMES = frozenset({GITIGNORE, CODEKERNELIGNORE, DOT_GIT})


@dataclass(frozen=True, slots=True)
class WalkedFolder:
    """A folder and the rules that apply in it."""

    full_path: str  # on disk, no separator at the end
    path: str  # from the root, "" or with a slash at the end
    rule_path: str  # byte text, from where the outermost rules are; like path "" or with a slash
    repository: GitRepository | None
    git_rules: tuple[IgnoreRuleSet, ...]  # in order of precedence
    own_rules: tuple[IgnoreRuleSet, ...]
    # Why nothing in here is indexed but what is tracked or re-included; None in most folders.
    exclusion_detail: str | None = None


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Why an entry is skipped; if ``is_final``, nothing below it can be re-included."""

    detail: str
    is_final: bool


def read_outermost_folder(full: str, path: str) -> WalkedFolder:
    """Read the outermost folder with rules: the top of a repository, or a root without git."""
    top = Path(full)
    git_dir = find_git_dir(top)
    repository = GitRepository(top, git_dir, 0) if git_dir else None
    if repository:
        excludes = repository.exclude_rules
    else:
        excludes = read_user_excludes(read_git_settings(None), top, 0, fold_case=False)
    bare = WalkedFolder(full, path, "", repository, excludes, ())
    return _add_rule_files(bare, list_rule_files(full))


def enter_folder(  # noqa: PLR0913 - what may be known of a folder already
    parent: WalkedFolder,
    name: str,
    rule_files: Collection[str],
    *,
    exclusion_detail: str | None = None,
    path: str | None = None,
    handle: FolderHandle | None = None,
) -> WalkedFolder:
    """Return the folder ``name`` of ``parent``, which has these rule files.

    The rules are read through ``handle`` if it is given, else by path.
    """
    full = f"{parent.full_path}{os.sep}{name}"
    place = f"{parent.rule_path}{to_byte_text(name)}/"
    repository, git_rules = parent.repository, parent.git_rules
    if DOT_GIT in rule_files and (git_dir := find_git_dir(Path(full))):
        repository = GitRepository(Path(full), git_dir, len(place))
        git_rules = repository.exclude_rules
    if path is None:
        path = f"{parent.path}{name}/"
    folder = WalkedFolder(
        full, path, place, repository, git_rules, parent.own_rules, exclusion_detail
    )
    return _add_rule_files(folder, rule_files, handle) if rule_files else folder


def list_rule_files(full: str) -> set[str]:
    """Return which rule files a folder has."""
    return {name for name in RULE_FILE_NAMES if os.path.lexists(f"{full}{os.sep}{name}")}


def find_exclusion(folder: WalkedFolder, name: str, *, is_folder: bool) -> Exclusion | None:
    """Return the rule by which an entry is skipped, or None."""
    if name in NEVER_INDEXED_NAMES and (is_folder or name == DOT_GIT):
        return Exclusion(f"built-in rule: {name} is never indexed", is_final=True)
    text = name if name.isascii() else to_byte_text(name)
    place = folder.rule_path + text
    for rules in folder.own_rules:
        rule = rules.find_last_match(text, place, is_folder=is_folder)
        if rule:
            return None if rule.pattern.is_negated else Exclusion(str(rule), is_final=True)
    ignored = folder.exclusion_detail or _find_git_exclusion(
        folder, text, place, is_folder=is_folder
    )
    if ignored and folder.repository and _is_tracked(folder.repository, place):
        ignored = None
    if is_folder and not ignored:
        ignored = _find_builtin_exclusion(folder, name)
    return Exclusion(ignored, is_final=False) if ignored else None


def has_reincluded_entries(folder: WalkedFolder, name: str) -> bool:
    """Whether a skipped folder holds something that is tracked or re-included."""
    place = folder.rule_path + to_byte_text(name)
    repository = folder.repository
    if repository and place[repository.base_length :] in repository.tracked_paths.folders:
        return True
    return any(
        rules.has_negated_rule_below(place[rules.base_length :] + "/") for rules in folder.own_rules
    )


def _add_rule_files(
    folder: WalkedFolder, rule_files: Collection[str], handle: FolderHandle | None = None
) -> WalkedFolder:
    git_rules, own_rules = folder.git_rules, folder.own_rules
    if GITIGNORE in rule_files:
        git_rules = (*_read_rules(folder, GITIGNORE, handle), *git_rules)
    if CODEKERNELIGNORE in rule_files:
        own_rules = (*_read_rules(folder, CODEKERNELIGNORE, handle), *own_rules)
    return replace(folder, git_rules=git_rules, own_rules=own_rules)


def _read_rules(
    folder: WalkedFolder, name: str, handle: FolderHandle | None
) -> tuple[IgnoreRuleSet, ...]:
    content = read_regular_file(Path(folder.full_path, name), follow_links=False, folder=handle)
    fold_case = folder.repository is not None and folder.repository.fold_case
    return parse_ignore_file(
        content, f"{folder.path}{name}", base=len(folder.rule_path), fold_case=fold_case
    )


def _find_git_exclusion(
    folder: WalkedFolder, name: str, place: str, *, is_folder: bool
) -> str | None:
    for rules in folder.git_rules:
        rule = rules.find_last_match(name, place, is_folder=is_folder)
        if rule:
            return None if rule.pattern.is_negated else str(rule)
    return None


def _is_tracked(repository: GitRepository, place: str) -> bool:
    below = place[repository.base_length :]
    return below in repository.tracked_paths.files or below in repository.tracked_paths.repositories


def _find_builtin_exclusion(folder: WalkedFolder, name: str) -> str | None:
    """Return why a folder that no rule names is not entered."""
    if folder.repository is None:
        return describe_known_folder(folder.full_path, name)
    full = f"{folder.full_path}{os.sep}{name}"
    if os.path.isfile(f"{full}{os.sep}{DOT_GIT}"):  # noqa: PTH113  # in the walk's loop
        git_dir = find_git_dir(Path(full))
        if git_dir and find_common_dir(git_dir) == folder.repository.common_dir:
            return "built-in rule: another work tree of the repository it lies in"
    return None


_SPECIAL_FILE_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}

# A junction, the Windows kind of link to a folder, calls itself a folder.
_JUNCTION_TAG = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)


def is_real_folder(status: os.stat_result) -> bool:
    """Whether this is a folder and no link to another one."""
    return stat.S_ISDIR(status.st_mode) and not is_junction(status)


def is_junction(status: os.stat_result) -> bool:
    """Whether this is a Windows junction."""
    return _JUNCTION_TAG is not None and getattr(status, "st_reparse_tag", 0) == _JUNCTION_TAG


def classify_file(
    folder: WalkedFolder, name: str, entry: "os.DirEntry[str] | os.stat_result", root: Path
) -> FoundFile | SkippedPath:
    """Index or skip an entry that is no folder; a DirEntry is only read if it is not excluded."""
    path = folder.path + name
    excluded = find_exclusion(folder, name, is_folder=False)
    if excluded:
        return SkippedPath(path, SkipReason.IGNORED, excluded.detail)
    try:
        status = entry.stat(follow_symlinks=False) if isinstance(entry, os.DirEntry) else entry
    except OSError as error:
        return skip_for_error(path, error)
    if stat.S_ISREG(status.st_mode):
        rejected = reject_by_name(path) or reject_by_size(path, status.st_size)
        return rejected or FoundFile(path, status.st_size, status.st_mtime_ns)
    if stat.S_ISLNK(status.st_mode) or is_junction(status):
        return _skip_link(path, folder.full_path + os.sep + name, root)
    kind = _SPECIAL_FILE_KINDS.get(stat.S_IFMT(status.st_mode), "of a special kind")
    return SkippedPath(path, SkipReason.NOT_A_FILE, f"{kind}, not a file")


def check_folder(folder: WalkedFolder, name: str) -> str | SkippedPath | None:
    """Return None to enter the folder, or why only tracked and re-included entries of it count."""
    excluded = find_exclusion(folder, name, is_folder=True)
    if not excluded:
        return None
    path = f"{folder.path}{name}/"
    if excluded.is_final or not has_reincluded_entries(folder, name):
        return SkippedPath(path, SkipReason.IGNORED, excluded.detail)
    return folder.exclusion_detail or describe_excluded_parent(path, excluded.detail)


def describe_excluded_parent(folder_path: str, detail: str) -> str:
    """Return the detail for an entry of a skipped folder."""
    return f"in {folder_path}, which is left out: {detail}"


def skip_for_error(path: str, error: OSError) -> SkippedPath:
    """Return the skip for a system error."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return SkippedPath(path, SkipReason.VANISHED, "gone when it was looked at")
    return SkippedPath(
        path, SkipReason.UNREADABLE, f"the system refuses: {error.strerror or error}"
    )


def _skip_link(path: str, full: str, root: Path) -> SkippedPath:
    try:
        target = os.path.realpath(full, strict=True)
        top = os.path.realpath(root)
        shown = Path(full).readlink()
    except OSError as error:
        return SkippedPath(
            path, SkipReason.LINK, f"a link that leads nowhere: {error.strerror or error}"
        )
    if target != top and not target.startswith(top.rstrip(os.sep) + os.sep):
        return SkippedPath(path, SkipReason.OUTSIDE, f"a link to {shown}, outside the repository")
    return SkippedPath(
        path, SkipReason.LINK, f"a link to {shown}; what is there is looked at there"
    )
