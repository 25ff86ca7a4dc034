"""Everything that goes to one chat, in order and within the platform's rates, on one thread.

What cannot be sent now is tried again until it is; only what the platform says is gone is dropped.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from codekernel.adapters.chat.bindings import ChatBinding, ChatBindings, ChatButtons
from codekernel.adapters.chat.commands import is_notices_only
from codekernel.adapters.chat.session_feed import SessionFeed
from codekernel.adapters.lark.api import CARD_CODES, GONE_CODES, LarkApi, LarkRefused
from codekernel.adapters.lark.cards import Card, make_plain_card
from codekernel.adapters.lark.store import LarkStore
from codekernel.adapters.lark.turn_cards import (
    MIN_INTERVAL_SECONDS,
    CardSync,
    PlannedCard,
    make_unique_id,
    plan_cards,
)
from codekernel.errors import KernelError, NetworkError

logger = logging.getLogger(__name__)

FIRST_BACKOFF_SECONDS = 0.5

# While the network is away; somebody is waiting for the card.
MAX_BACKOFF_SECONDS = 30.0

# For a refusal that a person must mend, as a right that was not granted.
REFUSED_BACKOFF_SECONDS = 60.0

STOP_TIMEOUT_SECONDS = 25.0


@dataclass(frozen=True, slots=True)
class LarkParts:
    """What the parts of the adapter share."""

    api: LarkApi
    store: LarkStore
    bindings: ChatBindings
    buttons: ChatButtons
    notices_only: bool = False


@dataclass
class _FollowedSession:
    feed: SessionFeed
    sync: CardSync
    planned: list[PlannedCard] = field(default_factory=list)
    plan_key: tuple[int, bool] = (-1, False)


class ChatDelivery:
    """The thread of one chat."""

    def __init__(self, parts: LarkParts, chat_id: str) -> None:
        self.chat_id = chat_id
        self._parts = parts
        self._condition = threading.Condition()
        self._is_dirty = False
        self._is_stopping = False
        self._replies: deque[tuple[str, Card, Callable[[], None]]] = deque()
        self._sessions: dict[str, _FollowedSession] = {}
        self._next_send_at = 0.0
        self._thread = threading.Thread(target=self._run, name="lark:chat", daemon=True)
        self._thread.start()

    def follow(self, feed: SessionFeed) -> None:
        """Show a session from where its feed begins."""
        sync = CardSync(self._parts.api, self._parts.store, self.chat_id, feed.session_id)
        with self._condition:
            self._sessions.setdefault(feed.session_id, _FollowedSession(feed, sync))
        self.wake()

    def list_feeds(self) -> list[SessionFeed]:
        """Return the feeds of the sessions that are shown."""
        with self._condition:
            return [each.feed for each in self._sessions.values()]

    def drop(self, session_id: str) -> None:
        """Show a session no more."""
        with self._condition:
            self._sessions.pop(session_id, None)
        self._parts.store.delete_feed(self.chat_id, session_id)

    def reply(
        self, event_id: str, cards: Sequence[Card], on_sent: Callable[[], None] = lambda: None
    ) -> None:
        """Answer an event; ``on_sent`` is called after the last card."""
        with self._condition:
            for number, card in enumerate(cards, 1):
                unique_id = make_unique_id(self.chat_id, event_id, str(number))
                is_last = number == len(cards)
                self._replies.append((unique_id, card, on_sent if is_last else lambda: None))
        self.wake()

    def wake(self) -> None:
        """Look again for what is to be sent."""
        with self._condition:
            self._is_dirty = True
            self._condition.notify_all()

    def stop(self) -> None:
        """End after the request that is under way."""
        with self._condition:
            self._is_stopping = True
            self._condition.notify_all()
        self._thread.join(STOP_TIMEOUT_SECONDS)

    def _run(self) -> None:
        backoff = FIRST_BACKOFF_SECONDS
        due_at: float | None = None
        while self._wait(due_at):
            try:
                due_at = self._work()
            except NetworkError as error:
                wait = self._handle_failure(error, backoff)
                backoff = min(2 * backoff, MAX_BACKOFF_SECONDS)
                if not self._sleep(wait):
                    return
                due_at = 0.0
            except KernelError as error:  # the disk refuses
                logger.warning("a chat of Lark waits: %s", error)
                due_at = time.monotonic() + MAX_BACKOFF_SECONDS
            except Exception:  # the guard of this thread: other chats go on, and this one later
                logger.exception("a chat of Lark cannot be served")
                due_at = time.monotonic() + MAX_BACKOFF_SECONDS
            else:
                backoff = FIRST_BACKOFF_SECONDS

    def _handle_failure(self, error: NetworkError, backoff: float) -> float:
        if not isinstance(error, LarkRefused):
            logger.info("a chat of Lark waits: %s", error)
            return backoff
        if error.lark_code in GONE_CODES:
            logger.warning("a chat of Lark is gone: %s", error)
            self._abandon()
            return 0.0
        if error.retry_seconds is None:
            logger.warning("a chat of Lark waits: %s", error)
            return REFUSED_BACKOFF_SECONDS
        return max(error.retry_seconds, backoff)

    def _abandon(self) -> None:
        """Drop what the platform will never take: the bot is not in the chat any more."""
        with self._condition:
            replies, self._replies = self._replies, deque()
            sessions = list(self._sessions)
        for _, _, on_sent in replies:
            on_sent()
        for session_id in sessions:
            self.drop(session_id)
        self._parts.bindings.save_chat(_forget_session(self._parts.bindings, self.chat_id))

    def _wait(self, due_at: float | None) -> bool:
        """Wait until something changed or is due; false at the end."""
        with self._condition:
            timeout = None if due_at is None else max(due_at - time.monotonic(), 0.0)
            self._condition.wait_for(lambda: self._is_dirty or self._is_stopping, timeout)
            self._is_dirty = False
            return not self._is_stopping

    def _sleep(self, seconds: float) -> bool:
        with self._condition:
            return not self._condition.wait_for(lambda: self._is_stopping, seconds)

    def _work(self) -> float | None:
        """Send what can be sent now; return when more will be due. Raises NetworkError."""
        while not self._is_stopping:
            if self._replies:
                self._send_reply()
                continue
            with self._condition:
                sessions = list(self._sessions.values())
            outcomes = [self._work_on(each) for each in sessions]
            if True not in outcomes:
                due = [outcome for outcome in outcomes if isinstance(outcome, float)]
                return min(due, default=None)
        return None

    def _send_reply(self) -> None:
        unique_id, card, on_sent = self._replies[0]
        if not self._await_turn():
            return
        try:
            self._parts.api.send_card(self.chat_id, card, unique_id)
        except LarkRefused as error:
            if error.lark_code not in CARD_CODES:
                raise
            self._parts.api.send_card(self.chat_id, make_plain_card(card), unique_id)
        self._replies.popleft()
        on_sent()

    def _await_turn(self) -> bool:
        """Wait until a new message may be sent; false at the end."""
        is_allowed = self._sleep(max(self._next_send_at - time.monotonic(), 0.0))
        self._next_send_at = time.monotonic() + MIN_INTERVAL_SECONDS
        return is_allowed

    def _work_on(self, followed: _FollowedSession) -> bool | float | None:
        """Do one request; true if there was one, else when the next is due."""
        planned = self._plan(followed)
        work, due_at = followed.sync.find_work(planned)
        if work is not None:
            if not followed.sync.is_sent(work.name) and not self._await_turn():
                return None
            followed.sync.put(work)
            return True
        followed.sync.finish(planned, followed.feed.forget_shown)
        if due_at is None:
            self._drop_if_done(followed.feed)
        return due_at

    def _plan(self, followed: _FollowedSession) -> list[PlannedCard]:
        chat = self._parts.bindings.get_chat(self.chat_id)
        notices = is_notices_only(chat, default=self._parts.notices_only)
        key = (followed.feed.revision, notices)
        if key != followed.plan_key:
            state = followed.feed.read_state()
            followed.planned = []
            if state is not None:
                key = (state.revision, notices)
                followed.planned = plan_cards(
                    state, self.chat_id, self._parts.buttons, followed.sync.names, notices=notices
                )
            followed.plan_key = key
        return followed.planned

    def _drop_if_done(self, feed: SessionFeed) -> None:
        """Forget a session that the chat follows no more, when its last turn is shown."""
        if self._parts.bindings.get_chat(self.chat_id).session_id == feed.session_id:
            return
        state = feed.read_state()
        if state is not None and not state.turns and not state.record.is_thinking:
            self.drop(feed.session_id)


def _forget_session(bindings: ChatBindings, chat_id: str) -> ChatBinding:
    return replace(bindings.get_chat(chat_id), session_id="", shown_seq=0)
