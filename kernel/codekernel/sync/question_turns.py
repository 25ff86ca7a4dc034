"""Questions that are answered whoever follows: each has a thread, a repository and a feed."""

import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from codekernel.conversation.conversations import Conversations
from codekernel.conversation.turn import RunningQuestionTurn
from codekernel.domain.concurrency import CancelToken, start_thread
from codekernel.errors import KernelError
from codekernel.protocol.messages.conversation import BeginConversation
from codekernel.sync.own_agent import OpenRepository
from codekernel.sync.turn_feed import TurnFeed, TurnFeeds

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _RunningQuestion:
    folder: Path
    cancel: CancelToken
    thread: threading.Thread


class QuestionTurns:
    """The questions at work; safe to use from any thread.

    ``on_idle`` is called when the last one was answered.
    """

    def __init__(
        self,
        conversations: Callable[[], Conversations],
        open_repository: OpenRepository,
        feeds: TurnFeeds,
        on_idle: Callable[[], None],
    ) -> None:
        self._conversations = conversations
        self._open_repository = open_repository
        self._feeds = feeds
        self._on_idle = on_idle
        self._running: dict[TurnFeed, _RunningQuestion] = {}
        self._lock = threading.Lock()

    @property
    def is_busy(self) -> bool:
        """Whether a question is being answered."""
        with self._lock:
            return bool(self._running)

    def begin(self, asked: BeginConversation, folder: Path, *, is_mirrored: bool) -> TurnFeed:
        """Accept a question and begin to answer it; raises as ``Conversations.begin`` does."""
        cancel = CancelToken()
        with ExitStack() as resources:
            repository = resources.enter_context(
                self._open_repository(folder, is_mirrored=is_mirrored)
            )
            turn = self._conversations().begin(asked, repository, cancel)
            feed = self._feeds.open(asked, folder)
            held = resources.pop_all()
            try:
                self._start(turn, feed, cancel, held)
            except RuntimeError as error:
                with held, turn:
                    self._feeds.end(feed)
                raise KernelError("The system has no thread left for the answer.") from error
        return feed

    def _start(
        self, turn: RunningQuestionTurn, feed: TurnFeed, cancel: CancelToken, held: ExitStack
    ) -> None:
        with self._lock:  # the thread looks for itself in the table when it ends
            thread = start_thread(
                f"answer:{feed.task.conversation_id}",
                lambda: self._answer(turn, feed, held),
                lambda error: logger.error("an answer has crashed", exc_info=error),
            )
            self._running[feed] = _RunningQuestion(feed.folder, cancel, thread)

    def stop_folder(self, folder: Path, timeout_seconds: float) -> None:
        """Stop the questions about a folder whose repository is deleted."""
        self._stop(
            [each for each in self._list_running() if each.folder == folder], timeout_seconds
        )

    def close(self, timeout_seconds: float) -> None:
        """Stop all; what was shown is saved."""
        self._stop(self._list_running(), timeout_seconds)

    def _answer(self, turn: RunningQuestionTurn, feed: TurnFeed, held: ExitStack) -> None:
        try:
            with held, turn:
                for event in turn.stream_events():
                    feed.append(event)
        finally:
            self._feeds.end(feed)
            with self._lock:
                del self._running[feed]
                is_idle = not self._running
            if is_idle:
                self._on_idle()

    def _list_running(self) -> list[_RunningQuestion]:
        with self._lock:
            return list(self._running.values())

    def _stop(self, questions: list[_RunningQuestion], timeout_seconds: float) -> None:
        for each in questions:
            each.cancel.cancel()
        for each in questions:
            each.thread.join(timeout_seconds)
