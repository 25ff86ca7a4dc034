"""What ``codekernel search`` searches: folders, repositories by name, URLs, or all known."""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codekernel.cli.folder_session import FolderSession
from codekernel.cli.project_folder import find_project_root
from codekernel.client.connection import KernelConnection
from codekernel.errors import RefusedByKernel, WrongParam
from codekernel.search.filters import build_unknown_value_error
from codekernel.search.query_syntax import parse_search_expression
from codekernel.storage.user_data import UserData

Fields = dict[str, Any]

# Each is a session of this command.
MAX_FOLDERS = 64

_FOLDER_START = re.compile(r"(?:~|\.\.?)?[/\\]|[A-Za-z]:[/\\]")


_URL = re.compile(r"(?:https?|ssh|git|file)://\S+")

# As scp has them: git@host:path.
_SCP_ADDRESS = re.compile(r"[\w.-]+@[\w.-]+:(?!/)\S+")


def is_git_url(text: str) -> bool:
    """Return whether a word can only be the URL of a repository."""
    return bool(_URL.fullmatch(text) or _SCP_ADDRESS.fullmatch(text))


def take_first_place(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split words into places at their beginning, and the query.

    A place is the URL of a repository, or a folder that cannot be part of a query: /srv/x, ./x.
    """
    first = words[0] if len(words) > 1 else ""
    is_folder = bool(_FOLDER_START.match(first)) and Path(first).expanduser().is_dir()
    return ([first], list(words[1:])) if is_folder or is_git_url(first) else ([], list(words))


def build_query(args: argparse.Namespace, words: Sequence[str]) -> str:
    """Return the query as the kernel reads it, with what the options say. Raises WrongParam."""
    text = " ".join(words)
    if not text.strip():
        raise WrongParam("the query is empty: say what to look for")
    if args.fixed:
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        text = f"/{_escape_slashes(re.escape(text))}/i" if args.ignore_case else f'"{quoted}"'
    elif args.regex:
        text = f"/{_escape_slashes(text)}/{'i' if args.ignore_case else ''}"
    elif args.ignore_case and re.fullmatch(r"/.+/", text):
        text += "i"
    filters = [("lang", args.type), ("path", args.glob), ("scope", args.scope)]
    named = [f'{kind}:"{_quote(value)}"' for kind, values in filters for value in values or ()]
    return " ".join([*named, text])


def _escape_slashes(pattern: str) -> str:
    return re.sub(r"(\\.)|/", lambda found: found[1] or r"\/", pattern)


def _quote(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def find_folders(
    args: argparse.Namespace, places: Sequence[str], query: str, user_data: UserData
) -> list[Path | str] | None:
    """Return the folders and names of repositories that are searched; None for all known ones.

    Clones what is named by its URL. Raises InvalidPath, WrongParam.
    """
    named = [*places, *(args.repo or ())]
    filters = parse_search_expression(query).filters
    if args.all or (not named and (filters.repos or filters.not_repos)):
        return None
    if len(named) > MAX_FOLDERS:
        raise WrongParam(f"{len(named)} repositories are too many at once, at most {MAX_FOLDERS}")
    if not named:
        return [find_project_root(None)]
    return [_find_folder(each, user_data, refresh=args.refresh) for each in named]


def _find_folder(named: str, user_data: UserData, *, refresh: bool) -> Path | str:
    if is_git_url(named):
        from codekernel.cli.git_clone import get_clone

        return get_clone(named, user_data, refresh=refresh)
    if Path(named).exists() or re.search(r"[/\\]", named):
        return find_project_root(str(Path(named).expanduser()))
    return named


def search_several(
    kernel: KernelConnection,
    folders: Sequence[Path | str] | None,
    fields: Fields,
    *,
    until_complete: bool,
) -> tuple[list[Fields], list[str]]:
    """Search repositories together; return the results, and what was not searched.

    Those that are named are indexed first, as a single one is. Raises RefusedByKernel.
    """
    names = None
    if folders is not None:
        names = _open_folders(kernel, folders, fields, until_complete=until_complete)
    found = kernel.request("searchRepos", {**fields, "repos": names})
    gaps = [
        f"{each['repoName']}: {sentence}"
        for each in found["repos"]
        for sentence in (each["error"], each["gap"])
        if sentence
    ]
    if not found["repos"]:
        gaps.append("no repository is known yet: search in one first, or name it with --repo")
    return found["results"], gaps


def _open_folders(
    kernel: KernelConnection,
    folders: Sequence[Path | str],
    fields: Fields,
    *,
    until_complete: bool,
) -> list[str]:
    """Open repositories and wait for their indexes; return their names."""
    known = {each["name"]: each["path"] for each in kernel.request("getRepos")["repoList"]}
    unknown = [each for each in folders if isinstance(each, str) and each not in known]
    if unknown:
        message = f'there is no folder and no repository "{unknown[0]}"'
        raise build_unknown_value_error(message, unknown[0], known)
    paths = [Path(known[each]) if isinstance(each, str) else each for each in folders]
    sessions = [FolderSession(kernel, number) for number in range(1, len(paths) + 1)]
    opening = [session.open(path) for session, path in zip(sessions, paths, strict=True)]
    names = [str(kernel.wait_for_reply(each)["repoName"]) for each in opening]
    for session in sessions:
        session.wait_for_index(wants_vectors=fields["semantic"], until_complete=until_complete)
    return list(dict.fromkeys(names))


def search_folder(
    kernel: KernelConnection, folder: Path | str, fields: Fields, *, until_complete: bool
) -> tuple[list[Fields], list[str]]:
    """Search one repository; as ``search_several``."""
    if isinstance(folder, str):
        return search_several(kernel, [folder], fields, until_complete=until_complete)
    return FolderSession(kernel).search(folder, fields, until_complete=until_complete)


def search_targets(
    kernel: KernelConnection,
    folders: Sequence[Path | str] | None,
    fields: Fields,
    *,
    until_complete: bool,
) -> tuple[list[Fields], list[str]]:
    """Search what ``find_folders`` has found; as ``search_several``. Raises WrongParam."""
    try:
        if folders is not None and len(folders) == 1:
            return search_folder(kernel, folders[0], fields, until_complete=until_complete)
        return search_several(kernel, folders, fields, until_complete=until_complete)
    except RefusedByKernel as error:
        raise WrongParam(str(error)) from error


def locate_root(folders: Sequence[Path | str] | None) -> Path:
    """Return the folder that paths of results without a repository are relative to."""
    first = folders[0] if folders else None
    return first if isinstance(first, Path) else Path.cwd()


def is_stdout_terminal() -> bool:
    """Return whether a person reads the output."""
    return sys.stdout is not None and sys.stdout.isatty()
