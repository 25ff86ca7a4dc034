"""Telegram as a chat of the hub: asks for updates, and carries events of sessions to chats."""

import itertools
import logging
import queue
import threading
from collections.abc import Callable
from typing import Any

from codekernel.adapters.chat.bindings import ChatBindings, ChatButtons
from codekernel.adapters.chat.commands import COMMANDS, ChatCommands
from codekernel.adapters.chat.repository_queries import RepositoryQueries
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.hub.service import HubSessions
from codekernel.adapters.telegram.api import (
    BotUser,
    TelegramApi,
    TelegramRefused,
)
from codekernel.adapters.telegram.followed_chats import FollowedChats, TelegramOptions
from codekernel.adapters.telegram.incoming import IncomingUpdates
from codekernel.adapters.telegram.message_store import MessageStore
from codekernel.adapters.telegram.turn_messages import TurnMessages
from codekernel.domain.agent_sessions import EventSubscription
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import KernelError, NetworkError

logger = logging.getLogger(__name__)

PLATFORM = "telegram"

# After a failure to reach Telegram, doubled each time.
FIRST_RETRY_SECONDS = 1.0

MAX_RETRY_SECONDS = 60.0

STOP_TIMEOUT_SECONDS = 3.0


class TelegramAdapter:
    """A ``ChatAdapter``: ``start`` it once, and ``stop`` it."""

    name = PLATFORM

    def __init__(
        self, database: HubDatabase, options: TelegramOptions, queries: RepositoryQueries
    ) -> None:
        self._options = options
        self._queries = queries
        self._store = MessageStore(database)
        self._bindings = ChatBindings(database, PLATFORM)
        self._buttons = ChatButtons(database, PLATFORM)
        self._api = TelegramApi(options.token, options.api_base)
        self._messages = TurnMessages(self._api, self._store, self, options.limits)
        self._stopping = CancelToken()
        # What the thread that shows sessions is to do; None ends it.
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._subscription: EventSubscription | None = None

    def start(self, machines: HubSessions) -> None:
        """Begin to serve; without a network it is tried again and again. Raises KernelError."""
        chats = FollowedChats(
            machines,
            self._bindings,
            self._buttons,
            self._messages,
            self._options,
        )
        self._chats = chats
        chats.refresh_bindings()
        self._subscription = machines.subscribe(
            lambda event: self._post(lambda: chats.apply(event))
        )
        self._messages.start()
        for name, target in (
            ("telegram:sessions", lambda: self._show_sessions(chats)),
            ("telegram:poll", lambda: self._poll(machines)),
        ):
            thread = threading.Thread(target=target, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """End within seconds; what was not sent is sent after the next start."""
        self._stopping.cancel()
        if self._subscription is not None:
            self._subscription.close()
        self._work.put(None)
        self._messages.stop(0.0)
        self._api.close()
        self._messages.stop(STOP_TIMEOUT_SECONDS)
        for thread in self._threads:
            thread.join(STOP_TIMEOUT_SECONDS)

    def item_delivered(self, chat_id: str, key: str) -> None:
        """Note that an item is in its chat; called by the sender."""
        self._post(lambda: self._chats.note_delivered(chat_id, key))

    def chat_gone(self, chat_id: str) -> None:
        """Note that a chat cannot be written to; called by the sender."""
        self._post(lambda: self._chats.drop(chat_id))

    def _post(self, work: Callable[[], None]) -> None:
        self._work.put(work)

    def _show_sessions(self, chats: FollowedChats) -> None:
        """Do what is posted, and show what has changed, until stopped."""
        wait: float | None = 0.0
        while not self._stopping.is_cancelled:
            try:
                work = self._work.get(timeout=wait)
            except queue.Empty:
                work = _do_nothing
            if work is None:
                return
            try:
                work()
                wait = chats.show()
            except Exception:  # the guard of this thread: other chats go on, and this one later
                logger.exception("Telegram: a chat cannot be kept in step")
                wait = MAX_RETRY_SECONDS

    def _poll(self, machines: HubSessions) -> None:
        bot = self._find_bot()
        if bot is None:
            return
        chats = self._chats
        incoming = IncomingUpdates(
            self._api,
            bot,
            machines,
            self._bindings,
            self._buttons,
            ChatCommands(machines, self._bindings, self._queries),
            self._messages,
            on_binding_changed=lambda: self._post(chats.refresh_bindings),
            on_decision=lambda *decided: self._post(lambda: chats.show_decision(*decided)),
        )
        counter = f"offset:{bot.id}"
        retry_seconds = 0.0
        while not self._stopping.is_cancelled:
            try:
                updates = self._api.get_updates(self._store.get_counter(counter))
                for update in itertools.takewhile(self._is_serving, updates):
                    _handle_guarded(incoming, update)
                    self._store.raise_counter(counter, update["update_id"] + 1)
                retry_seconds = 0.0
            except KernelError as error:
                retry_seconds = self._wait_after(error, retry_seconds)

    def _is_serving(self, _update: object) -> bool:
        return not self._stopping.is_cancelled

    def _find_bot(self) -> BotUser | None:
        """Return who the bot is, once Telegram can be reached; None if stopped before."""
        retry_seconds = 0.0
        while not self._stopping.is_cancelled:
            try:
                bot = self._api.get_me()
                self._api.set_commands(COMMANDS)
            except NetworkError as error:
                retry_seconds = self._wait_after(error, retry_seconds)
            else:
                logger.info("Telegram: the bot is @%s", bot.name)
                return bot
        return None

    def _wait_after(self, error: KernelError, waited_seconds: float) -> float:
        """Wait, longer each time; return how long."""
        seconds = min(waited_seconds * 2 or FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS)
        if isinstance(error, TelegramRefused) and error.is_rate_limited:
            seconds = max(seconds, error.retry_after_seconds)
        if not self._stopping.is_cancelled and not waited_seconds:
            logger.warning("Telegram: %s", error)
        self._stopping.wait(seconds)
        return seconds


def _handle_guarded(incoming: IncomingUpdates, update: dict[str, Any]) -> None:
    """Handle an update; one that cannot be handled must not hold up the others."""
    try:
        incoming.handle(update)
    except KernelError:  # the database cannot be written; it is asked for again
        raise
    except Exception:  # the guard of this thread
        logger.exception("Telegram: an update cannot be handled")


def _do_nothing() -> None:
    """Only show what has changed."""
