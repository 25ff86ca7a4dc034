"""``codekernel ask QUESTION``: a chat model answers about any folder, with sources that hold."""

import argparse
import logging
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from functools import partial
from pathlib import Path

from kernel.cli.ask_desk import Desk
from kernel.cli.ask_json import begin_line, event_line
from kernel.cli.ask_models import chosen_model, price_of
from kernel.cli.ask_output import Output, Printer
from kernel.cli.ask_stream import events_of
from kernel.cli.search import progress_bar, up_to_date, wait_for_index
from kernel.cli.search_index import FolderIndex
from kernel.cli.search_models import selected_judge, settings_and_plan, shelf
from kernel.cli.search_place import searched_folder
from kernel.cli.search_streams import say, speak_utf_8
from kernel.cli.search_terminal import screen_of
from kernel.cli.search_waiting import what_is_missing
from kernel.cli.serve import ONE_THREAD
from kernel.conversation.place import Place
from kernel.conversation.talk import Talk
from kernel.domain.cancel import CancelToken
from kernel.domain.hit import Hit
from kernel.domain.repo import Repo
from kernel.domain.settings import Settings
from kernel.domain.turn import Outcome
from kernel.domain.turn_events import Done, Shown
from kernel.domain.usage import Price
from kernel.errors import KernelError, StorageError, WrongParam
from kernel.search.searcher import Judge, Searcher
from kernel.storage.user_data import open_user_data

ANSWERED, TROUBLE, INTERRUPTED = 0, 2, 130  # as search and shells have them
_CODES = {Outcome.DONE: ANSWERED, Outcome.STOPPED: INTERRUPTED}

Show = Callable[[Shown], None]


def ask(asked: argparse.Namespace) -> int:
    """Print the answer and end the process: 0, 2 in trouble, 130 if it was stopped."""
    logging.getLogger().addHandler(logging.NullHandler())  # what matters is said, not logged
    for name, value in ONE_THREAD.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    speak_utf_8(sys.stdout)
    try:
        code = _answer(asked, " ".join(asked.question))
    except KernelError as error:
        say(str(error))
        code = TROUBLE
    except KeyboardInterrupt:
        code = INTERRUPTED
    # Native libraries may still be at work on a thread, and what is on disk is whole.
    os._exit(code)


def _answer(asked: argparse.Namespace, question: str) -> int:
    if not question.strip():
        raise WrongParam("the question is empty: say what you want to know")
    root = searched_folder(asked.repo)
    user_data = open_user_data(asked.user_data, os.environ)
    settings, plan = settings_and_plan(user_data.settings_file)
    model = chosen_model(settings, asked.model, user_data.settings_file)
    with ExitStack() as held:
        desk = held.enter_context(closing(Desk(user_data, settings)))
        desk.check(model)  # before anything is waited for
        repo = _repository(desk, root)
        folder = user_data.index_of(repo.id) if repo else user_data.index_of_folder(root)
        bar = held.enter_context(progress_bar())
        wait = partial(wait_for_index, bar=bar, patient=asked.wait)
        index = held.enter_context(up_to_date(root, folder, plan, shelf, wait))
        bar.clear()
        for sentence in what_is_missing(index):
            say(sentence)
        judge = held.enter_context(_judge(settings))
        desk.recover()
        number = _conversation(desk, root, goes_on=asked.goes_on)
        cancel = CancelToken()
        place = _place(root, index, judge, repo)
        talk = desk.conversations.begin(number, question, model, place, cancel)
        output = Output(sys.stdout)
        if asked.json:
            output.write(f"{begin_line(number, model, str(root))}\n")
        show = _show(asked, root, price_of(settings, model), output)
        return _shown(talk, cancel, show, output)


def _shown(talk: Talk, cancel: CancelToken, show: Show, output: Output) -> int:
    """Show the turn to its end; where nobody reads any more it is stopped, and kept."""
    code = TROUBLE
    with closing(events_of(talk, cancel)) as events:
        for event in events:
            show(event)
            if output.closed:
                cancel.cancel()
            if isinstance(event, Done):
                code = _CODES.get(event.outcome, TROUBLE)
    return ANSWERED if output.closed else code


def _show(asked: argparse.Namespace, root: Path, price: Price | None, output: Output) -> Show:
    if asked.json:
        return lambda event: output.write(f"{event_line(event, price)}\n")
    screens = [screen_of(it, os.environ, plain=asked.no_color) for it in (sys.stdout, sys.stderr)]
    return Printer(root, price, output.write, answer=screens[0], beside=screens[1]).show


def _place(root: Path, index: FolderIndex, judge: Judge | None, repo: Repo | None) -> Place:
    """The folder as a conversation needs it."""

    def search(query: str, limit: int, cancel: CancelToken) -> list[Hit]:
        # Anew each time, because vectors may have been completed meanwhile.
        searcher = Searcher(root, index.searchable(), judge, index.courtesy)
        return searcher.found(query, limit, cancel, accuracy=True).hits

    return Place(root, search, index.store.catalogue, repo.id if repo else None)


def _repository(desk: Desk, root: Path) -> Repo | None:
    try:
        return desk.repository(root)
    except StorageError as error:
        say(f"{error} So this question uses an index of the folder's own.")
        return None


def _conversation(desk: Desk, root: Path, *, goes_on: bool) -> int:
    number = desk.latest_conversation(root) if goes_on else None
    if number is None and goes_on:
        say(f"there is no conversation about {root} yet, so this is a new one")
    return desk.new_conversation() if number is None else number


def _judge(settings: Settings) -> AbstractContextManager[Judge | None]:
    selected = any(config.selected for config in settings.rerank_configs)
    return selected_judge(settings) if selected else nullcontext()
