"""``codekernel search QUERY``: search any folder; index it first where needed."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.cli.commands.serve import SINGLE_THREAD_ENV
from codekernel.cli.folder_index import (
    FolderIndex,
    ProgressBar,
    describe_missing,
    wait_for_lexical,
    wait_for_vectors,
)
from codekernel.cli.model_selection import (
    get_model_pool,
    load_settings_and_plan,
    open_selected_reranker,
)
from codekernel.cli.output.search_results import SearchResultPage, format_json, format_paths
from codekernel.cli.output.snippets import HighlightTerms, parse_highlight_terms
from codekernel.cli.output.terminal import (
    detect_terminal_style,
    print_notice,
    use_utf8,
    write_lines,
)
from codekernel.cli.project_folder import find_index_folder, find_project_root
from codekernel.domain.index import Hit
from codekernel.errors import KernelError, StorageError, WrongParam
from codekernel.indexing.index_plan import IndexPlan
from codekernel.search.pipeline import Searcher
from codekernel.storage.engine_errors import CatalogDamaged, LexicalIndexDamaged
from codekernel.storage.user_data import UserData, open_user_data

if TYPE_CHECKING:  # costs a third of a second, and a search by words does not need it
    from codekernel.inference.model_pool import ModelPool

EXIT_FOUND, EXIT_NOT_FOUND, EXIT_ERROR = 0, 1, 2  # as grep has them


def run_search(args: argparse.Namespace) -> int:
    """Print the best hits and end the process: 0 if there are any, 1 if not, 2 in trouble."""
    logging.getLogger().addHandler(logging.NullHandler())  # what matters is said, not logged
    for name, value in SINGLE_THREAD_ENV.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    use_utf8(sys.stdout)
    try:
        code = _search_and_print(args, " ".join(args.query))
    except KernelError as error:
        print_notice(str(error))
        code = EXIT_ERROR
    return _exit_now(code)


def _search_and_print(args: argparse.Namespace, query: str) -> int:
    if not query.strip():
        raise WrongParam("the query is empty: say what to look for")
    sought = parse_highlight_terms(
        query
    )  # before anything is waited for, because it may be refused
    root = find_project_root(args.repo)
    user_data = open_user_data(args.user_data, os.environ)
    settings, plan = load_settings_and_plan(user_data.settings_file)
    # What must stand in the text letter by letter is looked for there, whatever it means.
    models = None if args.words or sought.literals else get_model_pool
    folder = _choose_index_folder(root, user_data)
    with ExitStack() as held:
        bar = held.enter_context(show_progress_bar())
        wait = partial(wait_for_index, bar=bar, until_complete=args.wait)
        index = held.enter_context(open_updated_index(root, folder, plan, models, wait))
        bar.clear()
        with open_selected_reranker(settings) if args.accuracy else nullcontext() as judge:
            searcher = Searcher(root, index.get_searchable(), judge, index.throttle)
            limit = args.limit or settings.search_limit
            hits = searcher.search(query, limit, accuracy=args.accuracy)
        for sentence in describe_missing(index):
            print_notice(sentence)
        # Before the index is closed, because that may take a moment.
        write_lines(_format_output(args, query, sought, root, hits))
    return EXIT_FOUND if hits else EXIT_NOT_FOUND


@contextmanager
def open_updated_index(
    root: Path,
    folder: Path,
    plan: IndexPlan,
    get_model_pool: "Callable[[], ModelPool] | None",
    wait: Callable[[FolderIndex], None],
) -> Iterator[FolderIndex]:
    """The folder's index, in line with the files as far as is worth waiting for."""
    with ExitStack() as held:
        try:
            index = held.enter_context(closing(FolderIndex(root, folder, plan, get_model_pool)))
            wait(index)
        except (CatalogDamaged, LexicalIndexDamaged) as damage:  # all of it follows from the files
            held.close()
            print_notice(f"{damage} It is rebuilt from the files.")
            index = FolderIndex(root, folder, plan, get_model_pool, damage=damage)
            held.enter_context(closing(index))
            wait(index)
        yield index


def wait_for_index(index: FolderIndex, bar: ProgressBar, *, until_complete: bool) -> None:
    """Start it, and wait for as long as that pays; a full disk is told, and then nothing more."""
    try:
        index.start()
        wait_for_lexical(index, bar)
        wait_for_vectors(index, bar, until_complete=until_complete)
    except (CatalogDamaged, LexicalIndexDamaged):
        raise
    except StorageError as error:  # a full disk; what is indexed can be searched
        bar.clear()
        print_notice(str(error))


def _choose_index_folder(root: Path, user_data: UserData) -> Path:
    try:
        return find_index_folder(root, user_data, os.environ)
    except StorageError as error:
        print_notice(f"{error} So this search uses an index of the folder's own.")
        return user_data.folder_index_folder(root)


def _format_output(
    args: argparse.Namespace, query: str, terms: HighlightTerms, root: Path, hits: Sequence[Hit]
) -> Iterator[str]:
    screen = detect_terminal_style(sys.stdout, os.environ, without_colors=args.no_color)
    if args.json:
        yield format_json(hits, query, explain=args.explain)
    elif args.files:
        yield from format_paths(hits, root, screen)
    else:
        yield from SearchResultPage(root, terms, screen, args.explain).format_lines(hits)


@contextmanager
def show_progress_bar() -> Iterator[ProgressBar]:
    """The bar, which is taken away whatever happens."""
    bar = ProgressBar(sys.stderr)
    try:
        yield bar
    finally:
        bar.clear()


def _exit_now(code: int) -> int:
    """End now: native libraries may still be at work on a thread, and what is on disk is whole."""
    os._exit(code)
