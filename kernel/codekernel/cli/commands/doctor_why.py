"""``codekernel doctor why FILE [QUERY]``: whether a file is indexed, and where it ranks."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from codekernel.cli import folder_index
from codekernel.cli.folder_index import FolderIndex, FolderIndexView
from codekernel.cli.model_selection import get_model_pool, load_settings_and_plan
from codekernel.cli.output.progress_bar import ProgressBar
from codekernel.cli.output.terminal import print_line
from codekernel.cli.process import ExitCode
from codekernel.cli.project_folder import find_git_root
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import FoundFile, Repo, SkippedPath
from codekernel.domain.untrusted_text import escape_path_for_terminal, resolve_encoded_path
from codekernel.errors import KernelError
from codekernel.files.reading import read_source_file
from codekernel.files.walk import FileWalker
from codekernel.search.pipeline import search_hybrid, search_literal
from codekernel.search.query_parser import parse_query
from codekernel.search.query_syntax import SearchExpression, parse_search_expression
from codekernel.search.ranking import RankedChunk, drop_overlapping
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.index_store import CATALOG_FILE
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.storage.vault.vault import RepoRegistry, Vault

# Of each list; a file that is not among these is far from being found.
MAX_CANDIDATES = 1000

MAX_SHOWN_SIGNALS = 4


def describe_rank(
    root: Path, folder: Path, settings_file: Path, query: str, path: str
) -> list[str]:
    """Return sentences about the rank of one file for one query."""
    _, plan = load_settings_and_plan(settings_file)
    bar = ProgressBar(sys.stderr)

    def wait(index: FolderIndex) -> None:
        index.start()
        folder_index.wait_for_lexical(index, bar)
        folder_index.wait_for_vectors(index, bar, until_complete=True)
        bar.clear()

    with folder_index.open_updated_index(root, folder, plan, get_model_pool, wait) as index:
        return list(_iterate_findings(index.get_searchable(), parse_search_expression(query), path))


def _iterate_findings(
    index: FolderIndexView, request: SearchExpression, path: str
) -> Iterator[str]:
    known = index.store.catalog.find_file(path)
    if known is None:
        yield "it is not indexed, so it cannot be found"
        return
    chunks = index.store.catalog.list_chunks(known.id)
    if not any(map(request.filters.accepts, chunks)):
        yield "the filters of the query turn it away"
        return
    missing = sum(
        vectors.is_missing(chunk.text_hash, chunk.max_chunk_chars)
        for vectors in index.vector_indexes
        for chunk in chunks
    )
    if missing:
        yield f"{missing} of its vectors are still to come"
    ranked = list(drop_overlapping(_rank_candidates(index, request)))
    places = [place for place, each in enumerate(ranked) if each.chunk.path == path]
    if not places:
        yield f"it is not among the {len(ranked)} candidates: it shares too little with the query"
        return
    found = ranked[places[0]]
    lines = f"{found.chunk.begin_line + 1}-{found.chunk.end_line}"
    yield f"ranked {places[0] + 1} of {len(ranked)}, with lines {lines}: {_format_signals(found)}"
    if places[0]:
        yield f"the first is {ranked[0].chunk.path}: {_format_signals(ranked[0])}"


def _rank_candidates(index: FolderIndexView, request: SearchExpression) -> Sequence[RankedChunk]:
    if request.is_literal:
        return search_literal(index, request, MAX_CANDIDATES, CancelToken()).chunks
    query = parse_query(request.query_text)
    return search_hybrid(index, query, request.filters, MAX_CANDIDATES).chunks


def _format_signals(ranked: RankedChunk) -> str:
    """Format the largest parts of a score."""
    parts = sorted(ranked.signals.items(), key=lambda part: -abs(part[1]))[:MAX_SHOWN_SIGNALS]
    return f"{ranked.score:.2f} = " + ", ".join(f"{name} {value:+.2f}" for name, value in parts)


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
        folder = (
            user_data.repo_index_folder(repo.id) if repo else user_data.folder_index_folder(root)
        )
        for sentence in describe_rank(root, folder, user_data.settings_file, query, relative):
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
