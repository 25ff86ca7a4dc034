"""``codekernel doctor why FILE [QUERY]``: whether a file is indexed, and where it ranks."""

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from codekernel.cli.folder_session import FolderSession, describe_gaps
from codekernel.cli.kernel_access import open_kernel
from codekernel.cli.output.terminal import print_line
from codekernel.cli.process import ExitCode
from codekernel.cli.project_folder import find_git_root, find_index_folder
from codekernel.domain.index import FoundFile, Repo, SkippedPath
from codekernel.domain.untrusted_text import (
    encode_path,
    escape_path_for_terminal,
    resolve_encoded_path,
)
from codekernel.errors import KernelError
from codekernel.files.reading import read_source_file
from codekernel.files.walk import FileWalker
from codekernel.search.query_syntax import parse_search_expression
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.index_store import CATALOG_FILE
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.storage.vault.vault import RepoRegistry, Vault

# Of each list; a file that is not among these is far from being found.
MAX_CANDIDATES = 1000

MAX_SHOWN_SIGNALS = 4


def describe_rank(
    args: argparse.Namespace, user_data: UserData, root: Path, query: str, path: str
) -> Iterator[str]:
    """Yield sentences about the rank of one file for one query. Raises KernelError."""
    filters = parse_search_expression(query).filters  # first, because it may be refused
    with open_kernel(args, user_data, "doctor") as kernel:
        session = FolderSession(kernel)
        repo_name = kernel.wait_for_reply(session.open(root))["repoName"]
        yield from describe_gaps(session.wait_for_index(until_complete=True), wants_vectors=True)
        index = find_index_folder(kernel, repo_name, user_data)
        with closing(Catalog(index / CATALOG_FILE)) as catalog:
            known = catalog.find_file(path)
            chunks = catalog.list_chunks(known.id) if known else []
        found = session.request("search", query=query, limit=MAX_CANDIDATES, explain=True)
    if known is None:
        yield "it is not indexed, so it cannot be found"
    elif not any(map(filters.accepts, chunks)):
        yield "the filters of the query turn it away"
    else:
        yield from _describe_places(found["results"], encode_path(path))


def _describe_places(results: Sequence[dict[str, Any]], path: str) -> Iterator[str]:
    places = [place for place, each in enumerate(results) if each["filePath"] == path]
    if not places:
        yield f"it is not among the {len(results)} candidates: it shares too little with the query"
        return
    found = results[places[0]]
    lines = f"{found['beginLine'] + 1}-{found['endLine']}"
    yield f"ranked {places[0] + 1} of {len(results)}, with lines {lines}: {_format_signals(found)}"
    if places[0]:
        yield f"the first is {results[0]['filePath']}: {_format_signals(results[0])}"


def _format_signals(result: dict[str, Any]) -> str:
    """Format the largest parts of a score."""
    score = result["score"] / max(1e-9, 1 - result["score"])  # the sum that 0..1 stands for
    parts = sorted(result["why"].items(), key=lambda part: -abs(part[1]))[:MAX_SHOWN_SIGNALS]
    return f"{score:.2f} = " + ", ".join(f"{name} {value:+.2f}" for name, value in parts)


def run_doctor_why(args: argparse.Namespace) -> int:
    """Print what is known of a file; OK if it is indexed and up to date, else FAILED.

    With a query, print the file's rank for it, too.
    """
    user_data = open_user_data(args.user_data, os.environ)
    query, named = " ".join(args.query), resolve_encoded_path(Path.cwd(), args.file)
    path = Path(os.path.abspath(named))  # noqa: PTH100 - a link is asked about by its own name
    try:
        with closing(Vault(user_data, os.environ, may_quarantine=lambda: False)) as vault:
            repo = _find_repository(path, user_data, vault)
    except KernelError as error:
        print_line(f"PROBLEM: {error}")
        return ExitCode.FAILED
    root = repo.path if repo else find_git_root(path.parent) or path.parent
    relative = path.relative_to(root).as_posix()
    unknown = "" if repo else ", which is not a registered repository"
    print_line(
        f"{escape_path_for_terminal(relative)} in {escape_path_for_terminal(str(root))}{unknown}"
    )
    indexable, verdict = _check_rules(root, relative)
    print_line(f"  rules: {verdict}")
    if query and indexable:
        for sentence in describe_rank(args, user_data, root, query, relative):
            print_line(f"  query: {sentence}")
    if repo is None:
        return ExitCode.OK if indexable else ExitCode.FAILED
    findings = list(_describe_index_entry(user_data.repo_index_folder(repo.id), root, relative))
    for _, finding in findings:
        print_line(f"  index: {finding}")
    is_current = indexable and all(good for good, _ in findings)
    return ExitCode.OK if is_current else ExitCode.FAILED


def _find_repository(path: Path, user_data: UserData, vault: Vault) -> Repo | None:
    """Return the innermost registered repository around a file."""
    if not user_data.database_file.exists():
        return None
    around = [repo for repo in RepoRegistry(vault).list_all() if path.is_relative_to(repo.path)]
    return max(around, key=lambda repo: len(repo.path.parts), default=None)


def _check_rules(root: Path, relative: str) -> tuple[bool, str]:
    """Return whether the file as it is now would be indexed, and why not."""
    item = FileWalker(root).check_path(relative)
    if item is None:
        return False, "there is no such file"
    if isinstance(item, FoundFile):
        source = read_source_file(root, item)
        if not isinstance(source, SkippedPath):
            return True, f"to be indexed, as {source.encoding} text"
        item = source
    return False, f"left out, {item.reason}: {item.detail}"


def _describe_index_entry(folder: Path, root: Path, relative: str) -> Iterator[tuple[bool, str]]:
    """Return what the index has of the file, each with whether that is good."""
    if not (folder / CATALOG_FILE).exists():
        yield False, "this repository has not been indexed yet; open it"
        return
    catalog = Catalog(folder / CATALOG_FILE)
    known, skipped = catalog.find_file(relative), catalog.find_skipped(relative)
    if known:
        chunks = len(catalog.list_chunks(known.id))
        yield True, f"{chunks} chunks"
        found = (root / relative).stat() if (root / relative).exists() else None
        if found is None or found.st_size != known.size or known.mtime_ns != found.st_mtime_ns:
            yield known.mtime_ns == -1, "the file has changed since, or has just been written"
    elif skipped:
        yield False, f"left out, {skipped.reason}: {skipped.detail}"
    else:
        yield False, "nothing is known of this file"
    catalog.close()
