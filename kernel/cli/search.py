"""``codekernel search QUERY``: answers in any folder, indexing it first where that is needed."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.cli.search_index import FolderIndex
from kernel.cli.search_models import selected_judge, settings_and_plan, shelf
from kernel.cli.search_output import Page, document, paths
from kernel.cli.search_place import index_folder, searched_folder
from kernel.cli.search_progress import Bar
from kernel.cli.search_snippet import Wanted, wanted
from kernel.cli.search_streams import say, speak_utf_8, write_lines
from kernel.cli.search_terminal import screen_of
from kernel.cli.search_waiting import wait_for_vectors, wait_for_words, what_is_missing
from kernel.cli.serve import ONE_THREAD
from kernel.domain.hit import Hit
from kernel.errors import KernelError, StorageError, WrongParam
from kernel.indexing.plan import IndexPlan
from kernel.search.searcher import Searcher
from kernel.storage.catalogue_failures import CatalogueDamaged
from kernel.storage.lexical_failures import IndexUnreadable
from kernel.storage.user_data import UserData, open_user_data

if TYPE_CHECKING:  # costs a third of a second, and a search by words does not need it
    from kernel.inference.shelf import Shelf

FOUND, NOTHING_FOUND, TROUBLE = 0, 1, 2  # as grep has them


def search(asked: argparse.Namespace) -> int:
    """Print the best hits and end the process: 0 if there are any, 1 if not, 2 in trouble."""
    logging.getLogger().addHandler(logging.NullHandler())  # what matters is said, not logged
    for name, value in ONE_THREAD.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    speak_utf_8(sys.stdout)
    try:
        code = _answer(asked, " ".join(asked.query))
    except KernelError as error:
        say(str(error))
        code = TROUBLE
    return _leave(code)


def _answer(asked: argparse.Namespace, query: str) -> int:
    if not query.strip():
        raise WrongParam("the query is empty: say what to look for")
    sought = wanted(query)  # before anything is waited for, because it may be refused
    root = searched_folder(asked.repo)
    user_data = open_user_data(asked.user_data, os.environ)
    settings, plan = settings_and_plan(user_data.settings_file)
    # What must stand in the text letter by letter is looked for there, whatever it means.
    models = None if asked.words or sought.literals else shelf
    folder = _index_folder(root, user_data)
    with ExitStack() as held:
        bar = held.enter_context(progress_bar())
        wait = partial(wait_for_index, bar=bar, patient=asked.wait)
        index = held.enter_context(up_to_date(root, folder, plan, models, wait))
        bar.clear()
        with selected_judge(settings) if asked.accuracy else nullcontext() as judge:
            searcher = Searcher(root, index.searchable(), judge, index.courtesy)
            limit = asked.limit or settings.search_limit
            hits = searcher.search(query, limit, accuracy=asked.accuracy)
        for sentence in what_is_missing(index):
            say(sentence)
        # Before the index is closed, because that may take a moment.
        write_lines(_output(asked, query, sought, root, hits))
    return FOUND if hits else NOTHING_FOUND


@contextmanager
def up_to_date(
    root: Path,
    folder: Path,
    plan: IndexPlan,
    models: "Callable[[], Shelf] | None",
    wait: Callable[[FolderIndex], None],
) -> Iterator[FolderIndex]:
    """The folder's index, in line with the files as far as is worth waiting for."""
    with ExitStack() as held:
        try:
            index = held.enter_context(closing(FolderIndex(root, folder, plan, models)))
            wait(index)
        except (CatalogueDamaged, IndexUnreadable) as damage:  # all of it follows from the files
            held.close()
            say(f"{damage} It is rebuilt from the files.")
            index = FolderIndex(root, folder, plan, models, damage=damage)
            held.enter_context(closing(index))
            wait(index)
        yield index


def wait_for_index(index: FolderIndex, bar: Bar, *, patient: bool) -> None:
    """Start it, and wait for as long as that pays; a full disk is told, and then nothing more."""
    try:
        index.start()
        wait_for_words(index, bar)
        wait_for_vectors(index, bar, patient=patient)
    except (CatalogueDamaged, IndexUnreadable):
        raise
    except StorageError as error:  # a full disk; what is indexed can be searched
        bar.clear()
        say(str(error))


def _index_folder(root: Path, user_data: UserData) -> Path:
    try:
        return index_folder(root, user_data, os.environ)
    except StorageError as error:
        say(f"{error} So this search uses an index of the folder's own.")
        return user_data.index_of_folder(root)


def _output(
    asked: argparse.Namespace, query: str, sought: Wanted, root: Path, hits: Sequence[Hit]
) -> Iterator[str]:
    screen = screen_of(sys.stdout, os.environ, plain=asked.no_color)
    if asked.json:
        yield document(hits, query, explain=asked.explain)
    elif asked.files:
        yield from paths(hits, root, screen)
    else:
        yield from Page(root, sought, screen, asked.explain).lines(hits)


@contextmanager
def progress_bar() -> Iterator[Bar]:
    """The bar, which is taken away whatever happens."""
    bar = Bar(sys.stderr)
    try:
        yield bar
    finally:
        bar.clear()


def _leave(code: int) -> int:
    """End now: native libraries may still be at work on a thread, and what is on disk is whole."""
    os._exit(code)
