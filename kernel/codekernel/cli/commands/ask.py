"""``codekernel ask QUESTION``: a chat model answers a question about a folder, with sources.

The turn runs on its own thread, so that Ctrl-C can stop it without losing it.
"""

import argparse
import os
import queue
import signal
import sys
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from codekernel.cli.commands.search import open_updated_index, show_progress_bar, wait_for_index
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
    format_begin_line,
    format_event_line,
)
from codekernel.cli.output.terminal import (
    OutputStream,
    detect_terminal_style,
    print_notice,
    use_utf8,
)
from codekernel.cli.process import ExitCode, catch_signals
from codekernel.cli.project_folder import find_project_root
from codekernel.conversation.chat_services import ChatServices
from codekernel.conversation.retriever import RepositoryAccess
from codekernel.conversation.turn import RunningQuestionTurn
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit, Repo
from codekernel.domain.turn import Price, TurnOutcome
from codekernel.domain.turn_events import ShownEvent, TurnDone
from codekernel.errors import StorageError, WrongParam
from codekernel.search.pipeline import RerankFunction, Searcher
from codekernel.storage.user_data import open_user_data

# How soon Ctrl-C is noticed on systems where waiting cannot be interrupted.
INTERRUPT_POLL_INTERVAL_SECONDS = 0.05

# A stopped turn ends within this; if not, it is recovered from its journal later.
TURN_STOP_TIMEOUT_SECONDS = 1.0


_EXIT_CODES = {TurnOutcome.DONE: ExitCode.OK, TurnOutcome.STOPPED: ExitCode.INTERRUPTED}

ShowEvent = Callable[[ShownEvent], None]


def run_ask(args: argparse.Namespace) -> int:
    """Print the answer: OK, ERROR, or INTERRUPTED if it was stopped. Raises KernelError."""
    use_utf8(sys.stdout)
    question = " ".join(args.question)
    if not question.strip():
        raise WrongParam("the question is empty: say what you want to know")
    root = find_project_root(args.repo)
    user_data = open_user_data(args.user_data, os.environ)
    settings, plan = load_settings_and_plan(user_data.settings_file)
    model = choose_model(settings, args.model, user_data.settings_file)
    with ExitStack() as held:
        services = held.enter_context(closing(ChatServices(user_data, settings)))
        services.check_model(model)  # first, because it may fail
        repo = _find_repository(services, root)
        folder = (
            user_data.repo_index_folder(repo.id) if repo else user_data.folder_index_folder(root)
        )
        bar = held.enter_context(show_progress_bar())
        wait = partial(wait_for_index, bar=bar, until_complete=args.wait)
        index = held.enter_context(open_updated_index(root, folder, plan, get_model_pool, wait))
        bar.clear()
        for sentence in describe_missing(index):
            print_notice(sentence)
        reranker = held.enter_context(open_selected_reranker(settings))
        services.recover_interrupted_turns()
        number = _choose_conversation(services, root, is_continued=args.is_continued)
        cancel = CancelToken()
        access = _bind_repository(root, index, reranker, repo)
        turn = services.conversations.begin(number, question, model, access, cancel)
        output = OutputStream(sys.stdout)
        if args.json:
            output.write(f"{format_begin_line(number, model, str(root))}\n")
        show = _make_event_printer(args, root, get_price(settings, model), output)
        return _show_turn(turn, cancel, show, output)


def follow_turn(
    turn: RunningQuestionTurn, cancel: CancelToken
) -> Generator[ShownEvent, None, None]:
    """Run the turn on a thread and yield its events.

    The first Ctrl-C stops the turn, whose end is waited for; the second one raises
    KeyboardInterrupt. Closing the generator stops a turn in progress.
    """
    events: queue.SimpleQueue[ShownEvent | None] = queue.SimpleQueue()

    def run() -> None:
        try:
            with turn:
                for event in turn.stream_events():
                    events.put(event)
        finally:
            events.put(None)

    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="turn")
    running = pool.submit(run)
    try:
        with catch_signals(signal.SIGINT) as interrupted:
            while True:
                if interrupted.is_set():
                    cancel.cancel()
                try:
                    event = events.get(timeout=INTERRUPT_POLL_INTERVAL_SECONDS)
                except queue.Empty:
                    continue
                if event is None:
                    break
                yield event
        running.result()
    finally:
        cancel.cancel()
        wait([running], TURN_STOP_TIMEOUT_SECONDS)


def _show_turn(
    turn: RunningQuestionTurn, cancel: CancelToken, show: ShowEvent, output: OutputStream
) -> int:
    """Show the turn to its end; stop and keep it where the output is no longer read."""
    code = ExitCode.ERROR
    with closing(follow_turn(turn, cancel)) as events:
        for event in events:
            show(event)
            if output.is_closed:
                cancel.cancel()
            if isinstance(event, TurnDone):
                code = _EXIT_CODES.get(event.outcome, ExitCode.ERROR)
    return ExitCode.OK if output.is_closed else code


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
    """Return the folder's access for a conversation."""

    def search(query: str, limit: int, cancel: CancelToken) -> list[Hit]:
        # A new searcher each time, because vectors may have been completed meanwhile.
        searcher = Searcher(root, index.get_searchable(), reranker, index.throttle)
        return searcher.run_search(query, limit, cancel, accuracy=True).hits

    return RepositoryAccess(root, search, index.store.catalog, repo.id if repo else None)


def _find_repository(services: ChatServices, root: Path) -> Repo | None:
    try:
        return services.find_repository(root)
    except StorageError as error:
        print_notice(f"{error} So this question uses an index of the folder's own.")
        return None


def _choose_conversation(services: ChatServices, root: Path, *, is_continued: bool) -> int:
    number = services.find_latest_conversation(root) if is_continued else None
    if number is None and is_continued:
        print_notice(f"there is no conversation about {root} yet, so this is a new one")
    return services.make_conversation_id() if number is None else number
