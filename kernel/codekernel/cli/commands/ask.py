"""``codekernel ask QUESTION``.

A chat model answers a question about a folder, with checked sources. The turn runs on its own
thread, so that Ctrl-C can stop it without losing it.
"""

import argparse
import logging
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from types import FrameType

from codekernel.cli.commands.search import open_updated_index, show_progress_bar, wait_for_index
from codekernel.cli.commands.serve import SINGLE_THREAD_ENV
from codekernel.cli.folder_index import FolderIndex, describe_missing
from codekernel.cli.model_selection import (
    choose_model,
    get_model_pool,
    get_price,
    load_settings_and_plan,
    open_selected_reranker,
)
from codekernel.cli.output.answer import (
    AnswerPrinter,
    OutputStream,
    format_begin_line,
    format_event_line,
)
from codekernel.cli.output.terminal import detect_terminal_style, print_notice, use_utf8
from codekernel.cli.project_folder import find_project_root
from codekernel.conversation.chat_services import ChatServices
from codekernel.conversation.retriever import RepositoryAccess
from codekernel.conversation.turn import RunningQuestionTurn
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit, Repo
from codekernel.domain.settings import Settings
from codekernel.domain.turn import Price, TurnOutcome
from codekernel.domain.turn_events import ShownEvent, TurnDone
from codekernel.errors import KernelError, StorageError, WrongParam
from codekernel.search.pipeline import RerankFunction, Searcher
from codekernel.storage.user_data import open_user_data

# How soon Ctrl-C is noticed on systems where waiting cannot be interrupted.
INTERRUPT_POLL_INTERVAL_SECONDS = 0.05

# A turn that nobody wants any more ends within this; if not, its journal settles it later.
TURN_STOP_TIMEOUT_SECONDS = 1.0


def follow_turn(
    talk: RunningQuestionTurn, cancel: CancelToken
) -> Generator[ShownEvent, None, None]:
    """What the turn shows. The first Ctrl-C stops it, and its end is waited for.

    The second one raises KeyboardInterrupt. To be closed, which stops a turn that is not over.
    """
    arrived: queue.SimpleQueue[ShownEvent | None] = queue.SimpleQueue()

    def run() -> None:
        try:
            with talk:
                for event in talk.stream_events():
                    arrived.put(event)
        finally:
            arrived.put(None)

    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="talk")
    running = pool.submit(run)
    try:
        yield from _iterate_events(arrived, cancel)
        running.result()
    finally:
        cancel.cancel()
        wait([running], TURN_STOP_TIMEOUT_SECONDS)


def _iterate_events(
    arrived: "queue.SimpleQueue[ShownEvent | None]", cancel: CancelToken
) -> Iterator[ShownEvent]:
    with _catch_interrupts() as interrupted:
        while True:
            if interrupted.is_set():
                cancel.cancel()
            try:
                event = arrived.get(timeout=INTERRUPT_POLL_INTERVAL_SECONDS)
            except queue.Empty:
                continue
            if event is None:
                return
            yield event


@contextmanager
def _catch_interrupts() -> Iterator[threading.Event]:
    """Ctrl-C sets the event; the handler does no more, for it may run while a lock is held."""
    noticed = threading.Event()

    def notice(_number: int, _frame: FrameType | None) -> None:
        if noticed.is_set():
            raise KeyboardInterrupt
        noticed.set()

    before = signal.signal(signal.SIGINT, notice)
    try:
        yield noticed
    finally:
        signal.signal(signal.SIGINT, before)


EXIT_ANSWERED, EXIT_ERROR, EXIT_INTERRUPTED = 0, 2, 130  # as search and shells have them

_EXIT_CODES = {TurnOutcome.DONE: EXIT_ANSWERED, TurnOutcome.STOPPED: EXIT_INTERRUPTED}

ShowEvent = Callable[[ShownEvent], None]


def run_ask(args: argparse.Namespace) -> int:
    """Print the answer and end the process: 0, 2 in trouble, 130 if it was stopped."""
    logging.getLogger().addHandler(logging.NullHandler())  # what matters is said, not logged
    for name, value in SINGLE_THREAD_ENV.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    use_utf8(sys.stdout)
    try:
        code = _answer_question(args, " ".join(args.question))
    except KernelError as error:
        print_notice(str(error))
        code = EXIT_ERROR
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    # Native libraries may still be at work on a thread, and what is on disk is whole.
    os._exit(code)


def _answer_question(args: argparse.Namespace, question: str) -> int:
    if not question.strip():
        raise WrongParam("the question is empty: say what you want to know")
    root = find_project_root(args.repo)
    user_data = open_user_data(args.user_data, os.environ)
    settings, plan = load_settings_and_plan(user_data.settings_file)
    model = choose_model(settings, args.model, user_data.settings_file)
    with ExitStack() as held:
        desk = held.enter_context(closing(ChatServices(user_data, settings)))
        desk.check_model(model)  # before anything is waited for
        repo = _find_repository(desk, root)
        folder = (
            user_data.repo_index_folder(repo.id) if repo else user_data.folder_index_folder(root)
        )
        bar = held.enter_context(show_progress_bar())
        wait = partial(wait_for_index, bar=bar, until_complete=args.wait)
        index = held.enter_context(open_updated_index(root, folder, plan, get_model_pool, wait))
        bar.clear()
        for sentence in describe_missing(index):
            print_notice(sentence)
        judge = held.enter_context(_open_reranker(settings))
        desk.recover_interrupted_turns()
        number = _choose_conversation(desk, root, is_continued=args.goes_on)
        cancel = CancelToken()
        place = _bind_repository(root, index, judge, repo)
        talk = desk.conversations.begin(number, question, model, place, cancel)
        output = OutputStream(sys.stdout)
        if args.json:
            output.write(f"{format_begin_line(number, model, str(root))}\n")
        show = _make_event_printer(args, root, get_price(settings, model), output)
        return _show_turn(talk, cancel, show, output)


def _show_turn(
    talk: RunningQuestionTurn, cancel: CancelToken, show: ShowEvent, output: OutputStream
) -> int:
    """Show the turn to its end; where nobody reads any more it is stopped, and kept."""
    code = EXIT_ERROR
    with closing(follow_turn(talk, cancel)) as events:
        for event in events:
            show(event)
            if output.is_closed:
                cancel.cancel()
            if isinstance(event, TurnDone):
                code = _EXIT_CODES.get(event.outcome, EXIT_ERROR)
    return EXIT_ANSWERED if output.is_closed else code


def _make_event_printer(
    args: argparse.Namespace, root: Path, price: Price | None, output: OutputStream
) -> ShowEvent:
    if args.json:
        return lambda event: output.write(f"{format_event_line(event, price)}\n")
    screens = [
        detect_terminal_style(it, os.environ, without_colors=args.no_color)
        for it in (sys.stdout, sys.stderr)
    ]
    return AnswerPrinter(root, price, output.write, answer=screens[0], notes=screens[1]).show


def _bind_repository(
    root: Path, index: FolderIndex, reranker: RerankFunction | None, repo: Repo | None
) -> RepositoryAccess:
    """The folder as a conversation needs it."""

    def search(query: str, limit: int, cancel: CancelToken) -> list[Hit]:
        # Anew each time, because vectors may have been completed meanwhile.
        searcher = Searcher(root, index.get_searchable(), reranker, index.throttle)
        return searcher.run_search(query, limit, cancel, accuracy=True).hits

    return RepositoryAccess(root, search, index.store.catalog, repo.id if repo else None)


def _find_repository(desk: ChatServices, root: Path) -> Repo | None:
    try:
        return desk.find_repository(root)
    except StorageError as error:
        print_notice(f"{error} So this question uses an index of the folder's own.")
        return None


def _choose_conversation(desk: ChatServices, root: Path, *, is_continued: bool) -> int:
    number = desk.find_latest_conversation(root) if is_continued else None
    if number is None and is_continued:
        print_notice(f"there is no conversation about {root} yet, so this is a new one")
    return desk.make_conversation_id() if number is None else number


def _open_reranker(settings: Settings) -> AbstractContextManager[RerankFunction | None]:
    selected = any(config.is_selected for config in settings.rerank_configs)
    return open_selected_reranker(settings) if selected else nullcontext()
