"""``codekernel search QUERY``: answers in any folder, indexing it first where that is needed."""

import argparse
import errno
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from kernel.cli.search_index import FolderIndex
from kernel.cli.search_output import Page, document, paths
from kernel.cli.search_place import index_folder, searched_folder
from kernel.cli.search_progress import Bar
from kernel.cli.search_terminal import safe, screen_of
from kernel.cli.search_waiting import wait_for_vectors, wait_for_words, what_is_missing
from kernel.cli.serve import ONE_THREAD
from kernel.domain.cancel import CancelToken
from kernel.domain.hit import Hit
from kernel.domain.settings import Settings
from kernel.errors import InvalidModel, KernelError, StorageError, WrongParam
from kernel.indexing.plan import IndexPlan, plan_of
from kernel.search.query import understood
from kernel.search.searcher import Judge, Searcher
from kernel.settings.box import default_settings
from kernel.storage.catalogue_failures import CatalogueDamaged
from kernel.storage.lexical_failures import IndexUnreadable
from kernel.storage.user_data import UserData, locate

if TYPE_CHECKING:  # costs a third of a second, and a search by words does not need it
    from kernel.inference.shelf import Shelf

FOUND, NOTHING_FOUND, TROUBLE, INTERRUPTED = 0, 1, 2, 130  # as grep has them, and shells
# Writing to a pipe that nobody reads any more; Windows calls it an invalid argument.
_PIPE_CLOSED = {errno.EPIPE, errno.EINVAL}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says."""

    query: str
    user_data: UserData
    repo: str | None
    limit: int | None
    accuracy: bool
    words: bool
    wait: bool
    json: bool
    files: bool
    explain: bool
    plain: bool


def search(chosen: argparse.Namespace) -> int:
    """Print the best hits and end the process: 0 if there are any, 1 if not, 2 in trouble."""
    logging.getLogger().addHandler(logging.NullHandler())  # what matters is said, not logged
    for name, value in ONE_THREAD.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    _speak_utf_8(sys.stdout)
    try:
        code = _answer(_asked(chosen))
    except KernelError as error:
        _say(str(error))
        code = TROUBLE
    except KeyboardInterrupt:
        code = INTERRUPTED
    return _leave(code)


def _answer(asked: Asked) -> int:
    if not asked.query.strip():
        raise WrongParam("the query is empty: say what to look for")
    root = searched_folder(asked.repo)
    settings, plan = _settings(asked.user_data)
    with ExitStack() as open_ones:
        bar = open_ones.enter_context(_bar())
        index = _up_to_date(asked, root, plan, bar, open_ones)
        with _judge(asked, settings) as judge:
            searcher = Searcher(root, index.searchable(), judge)
            limit = asked.limit or settings.search_limit
            hits = searcher.search(asked.query, limit, accuracy=asked.accuracy)
        bar.clear()
        for sentence in [] if asked.words else what_is_missing(index):
            _say(sentence)
        _print(_output(asked, root, hits))  # before the index is closed, which may take a moment
    return FOUND if hits else NOTHING_FOUND


def _up_to_date(
    asked: Asked, root: Path, plan: IndexPlan, bar: Bar, open_ones: ExitStack
) -> FolderIndex:
    """The folder's index, in line with the files as far as is worth waiting for."""
    folder = _index_folder(root, asked.user_data)
    shelf = None if asked.words else _shelf
    index = FolderIndex(root, folder, plan, shelf)
    closing_it = open_ones.enter_context(ExitStack())
    closing_it.enter_context(closing(index))
    try:
        _wait(index, bar, asked)
    except (CatalogueDamaged, IndexUnreadable):  # everything in it follows from the files
        closing_it.close()
        index = FolderIndex(root, folder, plan, shelf, set_aside=True)
        open_ones.enter_context(closing(index))
        _wait(index, bar, asked)
    return index


def _wait(index: FolderIndex, bar: Bar, asked: Asked) -> None:
    try:
        index.start()
        wait_for_words(index, bar)
        wait_for_vectors(index, bar, patient=asked.wait)
    except (CatalogueDamaged, IndexUnreadable):
        raise
    except StorageError as error:  # a full disk; what is indexed can be searched
        bar.clear()
        _say(str(error))


def _index_folder(root: Path, user_data: UserData) -> Path:
    try:
        return index_folder(root, user_data, os.environ)
    except StorageError as error:
        _say(f"{error} So the folder gets an index of its own.")
        return user_data.index_of_folder(root)


def _settings(user_data: UserData) -> tuple[Settings, IndexPlan]:
    """The settings; nothing is deleted on the word of those that only stand in for a file."""
    if not user_data.settings_file.exists():  # nobody has chosen anything
        settings = default_settings()
        return settings, plan_of(settings, certain=False)
    from kernel.settings.reading import load  # noqa: PLC0415 - a search without settings is quick

    settings, warnings = load(user_data.settings_file)
    for warning in warnings:
        _say(warning)
    return settings, plan_of(settings, certain=not warnings)


@cache
def _shelf() -> "Shelf":
    from kernel.inference.shelf import Shelf  # noqa: PLC0415 - heavy

    return Shelf()


@contextmanager
def _judge(asked: Asked, settings: Settings) -> Iterator[Judge | None]:
    """The selected reranker, if it is asked for and can be used."""
    models = {model.name: model.path for model in settings.local_models}
    selected = [config.model_name for config in settings.rerank_configs if config.selected]
    chosen = [models[name] for name in selected if name in models]
    with ExitStack() as held:
        judge: Judge | None = None
        if asked.accuracy and not chosen:
            _say("no reranker is selected in the settings, so --accuracy changes nothing")
        elif asked.accuracy:
            try:
                reranker = held.enter_context(_shelf().reranker(chosen[0], settings.performance))
                judge = lambda query, texts: reranker.score(query, texts, CancelToken())  # noqa: E731
            except InvalidModel as error:
                _say(f"the selected reranker is not used: {error}")
        yield judge


def _output(asked: Asked, root: Path, hits: Sequence[Hit]) -> Iterator[str]:
    screen = screen_of(sys.stdout, os.environ, plain=asked.plain)
    if asked.json:
        yield document(hits, asked.query, explain=asked.explain)
    elif asked.files:
        yield from paths(hits, root, screen)
    else:
        yield from Page(root, understood(asked.query), screen, asked.explain).lines(hits)


def _print(lines: Iterator[str]) -> None:
    """Write to stdout for as long as somebody reads it."""
    try:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError as error:
        if error.errno not in _PIPE_CLOSED:
            raise StorageError(f"stdout cannot be written: {error.strerror}") from error


def _asked(chosen: argparse.Namespace) -> Asked:
    return Asked(
        query=" ".join(chosen.query),
        user_data=locate(chosen.user_data, os.environ),
        repo=chosen.repo,
        limit=chosen.limit,
        accuracy=chosen.accuracy,
        words=chosen.words,
        wait=chosen.wait,
        json=chosen.json,
        files=chosen.files,
        explain=chosen.explain,
        plain=chosen.no_color,
    )


@contextmanager
def _bar() -> Iterator[Bar]:
    bar = Bar(sys.stderr)
    try:
        yield bar
    finally:
        bar.clear()


def _say(sentence: str) -> None:
    """A remark for the person, beside the results."""
    sys.stderr.write(f"codekernel: {safe(sentence)}\n")
    sys.stderr.flush()


def _speak_utf_8(stream: TextIO) -> None:
    """Let a pipe carry every text and every file's name; a terminal keeps its own encoding."""
    reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
    if reconfigure is None:
        return
    if stream.isatty():
        reconfigure(errors="backslashreplace")
    else:
        reconfigure(encoding="utf-8", errors="surrogateescape")


def _leave(code: int) -> int:
    """End now: native libraries may still be at work on a thread, and what is on disk is whole."""
    os._exit(code)
