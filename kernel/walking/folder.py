"""A folder of the walk with the rules that hold in it, and what they say about its entries.

Asked in this order: the names that are never entered; ``.codekernelignore``, deepest first, whose
``!pattern`` wins over git; whether the folder itself is left out; whether git tracks the path;
``.gitignore`` files, deepest first, .git/info/exclude, the user's excludes; without git, the known
folders of dependencies. Each repository in the tree has git rules of its own, and only those.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from kernel.domain.confinement.folder_handle import FolderHandle
from kernel.walking.ignore_files import read_plain_file
from kernel.walking.ignore_git_config import git_settings
from kernel.walking.ignore_known_folders import NEVER_ENTERED, known_folder
from kernel.walking.ignore_patterns import byte_text
from kernel.walking.ignore_repository import (
    Repository,
    common_dir_of,
    git_dir_of,
    user_excludes,
)
from kernel.walking.ignore_rules import RuleSet, rule_sets

GIT_RULES, OWN_RULES, DOT_GIT = ".gitignore", ".codekernelignore", ".git"
SPEAKING_NAMES = frozenset({GIT_RULES, OWN_RULES, DOT_GIT})


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder and what holds in it."""

    full: str  # on disk, no separator at the end
    path: str  # from the root, "" or with a slash at the end
    place: str  # byte text, from where the outermost rules are; like path "" or with a slash
    repository: Repository | None
    git_rules: tuple[RuleSet, ...]  # in the order in which they are asked
    own_rules: tuple[RuleSet, ...]
    # Why nothing in here is indexed but what is tracked or wanted back; None in most folders.
    left_out: str | None = None


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Why an entry is left out; if ``final``, nothing below it can be wanted back."""

    detail: str
    final: bool


def outermost(full: str, path: str) -> Folder:
    """The folder where the rules begin: the top of a repository, or a root without git."""
    top = Path(full)
    git_dir = git_dir_of(top)
    repository = Repository(top, git_dir, 0) if git_dir else None
    if repository:
        excludes = repository.excludes
    else:
        excludes = user_excludes(git_settings(None), top, 0, fold_case=False)
    bare = Folder(full, path, "", repository, excludes, ())
    return _with_rule_files(bare, present_names(full))


def enter(  # noqa: PLR0913 - what may be known of a folder already
    parent: Folder,
    name: str,
    present: Collection[str],
    *,
    left_out: str | None = None,
    path: str | None = None,
    opened: FolderHandle | None = None,
) -> Folder:
    """The folder ``name`` of ``parent``; ``present`` says which of the speaking names it has.

    Its rules are read from the folder that is ``opened``, else by its path.
    """
    full = f"{parent.full}{os.sep}{name}"
    place = f"{parent.place}{byte_text(name)}/"
    repository, git_rules = parent.repository, parent.git_rules
    if DOT_GIT in present and (git_dir := git_dir_of(Path(full))):
        repository = Repository(Path(full), git_dir, len(place))
        git_rules = repository.excludes
    if path is None:
        path = f"{parent.path}{name}/"
    folder = Folder(full, path, place, repository, git_rules, parent.own_rules, left_out)
    return _with_rule_files(folder, present, opened) if present else folder


def present_names(full: str) -> set[str]:
    """Which of the speaking names there are in a folder."""
    return {name for name in SPEAKING_NAMES if os.path.lexists(f"{full}{os.sep}{name}")}


def why_left_out(folder: Folder, name: str, *, is_folder: bool) -> Exclusion | None:
    """The rule by which an entry is left out; None if it is not."""
    if name in NEVER_ENTERED and (is_folder or name == DOT_GIT):
        return Exclusion(f"built-in rule: {name} is never indexed", final=True)
    text = name if name.isascii() else byte_text(name)
    place = folder.place + text
    for rules in folder.own_rules:
        rule = rules.last_word(text, place, is_folder=is_folder)
        if rule:
            return None if rule.pattern.negated else Exclusion(str(rule), final=True)
    ignored = folder.left_out or _ignored_by_git(folder, text, place, is_folder=is_folder)
    if ignored and folder.repository and _is_tracked(folder.repository, place):
        ignored = None
    if is_folder and not ignored:
        ignored = _not_worth_entering(folder, name)
    return Exclusion(ignored, final=False) if ignored else None


def leads_on(folder: Folder, name: str) -> bool:
    """Whether a folder that is left out holds something that is tracked or wanted back."""
    place = folder.place + byte_text(name)
    repository = folder.repository
    if repository and place[repository.base :] in repository.tracked.folders:
        return True
    return any(rules.names_a_folder_below(place[rules.base :] + "/") for rules in folder.own_rules)


def _with_rule_files(
    folder: Folder, present: Collection[str], opened: FolderHandle | None = None
) -> Folder:
    git_rules, own_rules = folder.git_rules, folder.own_rules
    if GIT_RULES in present:
        git_rules = (*_rules(folder, GIT_RULES, opened), *git_rules)
    if OWN_RULES in present:
        own_rules = (*_rules(folder, OWN_RULES, opened), *own_rules)
    return Folder(
        folder.full,
        folder.path,
        folder.place,
        folder.repository,
        git_rules,
        own_rules,
        folder.left_out,
    )


def _rules(folder: Folder, name: str, opened: FolderHandle | None) -> tuple[RuleSet, ...]:
    content = read_plain_file(Path(folder.full, name), follow=False, folder=opened)
    fold_case = folder.repository is not None and folder.repository.fold_case
    return rule_sets(content, f"{folder.path}{name}", base=len(folder.place), fold_case=fold_case)


def _ignored_by_git(folder: Folder, name: str, place: str, *, is_folder: bool) -> str | None:
    for rules in folder.git_rules:
        rule = rules.last_word(name, place, is_folder=is_folder)
        if rule:
            return None if rule.pattern.negated else str(rule)
    return None


def _is_tracked(repository: Repository, place: str) -> bool:
    below = place[repository.base :]
    return below in repository.tracked.files or below in repository.tracked.repositories


def _not_worth_entering(folder: Folder, name: str) -> str | None:
    """Why a folder that no rule names is not entered all the same."""
    if folder.repository is None:
        return known_folder(folder.full, name)
    full = f"{folder.full}{os.sep}{name}"
    if os.path.isfile(f"{full}{os.sep}{DOT_GIT}"):  # noqa: PTH113  # in the walk's loop
        git_dir = git_dir_of(Path(full))
        if git_dir and common_dir_of(git_dir) == folder.repository.common_dir:
            return "built-in rule: another work tree of the repository it lies in"
    return None
