"""``codekernel search QUERY``: search any folder; index it first where needed."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

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
from codekernel.cli.process import ExitCode
from codekernel.cli.project_folder import choose_index_folder, find_project_root
from codekernel.domain.index import Hit
from codekernel.errors import StorageError, WrongParam
from codekernel.indexing.index_plan import IndexPlan
from codekernel.search.pipeline import Searcher
from codekernel.storage.engine_errors import CatalogDamaged, LexicalIndexDamaged
from codekernel.storage.user_data import open_user_data

if TYPE_CHECKING:  # costs a third of a second, and a search by words does not need it
    from codekernel.inference.model_pool import ModelPool


def run_search(args: argparse.Namespace) -> int:
    """Print the best hits; OK if there are any, else FAILED. Raises KernelError."""
    use_utf8(sys.stdout)
    query = " ".join(args.query)
    if not query.strip():
        raise WrongParam("the query is empty: say what to look for")
    terms = parse_highlight_terms(query)  # first, because it may refuse the query
    root = find_project_root(args.repo)
    user_data = open_user_data(args.user_data, os.environ)
    settings, plan = load_settings_and_plan(user_data.settings_file)
    # Literals are searched for in the text, so no model is needed.
    models = None if args.words or terms.literals else get_model_pool
    folder = choose_index_folder(root, user_data)
    with ExitStack() as held:
        bar = held.enter_context(show_progress_bar())
        wait = partial(wait_for_index, bar=bar, until_complete=args.wait)
        index = held.enter_context(open_updated_index(root, folder, plan, models, wait))
        bar.clear()
        reranking = open_selected_reranker(settings, is_requested=True)
        with reranking if args.accuracy else nullcontext() as reranker:
            searcher = Searcher(root, index.get_searchable(), reranker, index.throttle)
            limit = args.limit or settings.search_limit
            hits = searcher.search(query, limit, accuracy=args.accuracy)
        for sentence in describe_missing(index):
            print_notice(sentence)
        # Before the index is closed, because that may take a moment.
        write_lines(_format_output(args, query, terms, root, hits))
    return ExitCode.OK if hits else ExitCode.FAILED


@contextmanager
def open_updated_index(
    root: Path,
    folder: Path,
    plan: IndexPlan,
    get_model_pool: "Callable[[], ModelPool] | None",
    wait: Callable[[FolderIndex], None],
) -> Iterator[FolderIndex]:
    """Open the folder's index and bring it up to date as far as ``wait`` waits.

    A damaged index is rebuilt from the files.
    """
    with ExitStack() as held:
        try:
            index = held.enter_context(closing(FolderIndex(root, folder, plan, get_model_pool)))
            wait(index)
        except (CatalogDamaged, LexicalIndexDamaged) as damage:
            held.close()
            print_notice(f"{damage} It is rebuilt from the files.")
            index = FolderIndex(root, folder, plan, get_model_pool, damage=damage)
            held.enter_context(closing(index))
            wait(index)
        yield index


def wait_for_index(index: FolderIndex, bar: ProgressBar, *, until_complete: bool) -> None:
    """Start indexing and wait as long as it pays; on a full disk print a notice and return."""
    try:
        index.start()
        wait_for_lexical(index, bar)
        wait_for_vectors(index, bar, until_complete=until_complete)
    except (CatalogDamaged, LexicalIndexDamaged):
        raise
    except StorageError as error:  # a full disk; what is indexed can be searched
        bar.clear()
        print_notice(str(error))


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
    """Yield a progress bar and remove it at the end, whatever happens."""
    bar = ProgressBar(sys.stderr)
    try:
        yield bar
    finally:
        bar.clear()
