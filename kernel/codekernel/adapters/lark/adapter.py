"""The chat adapter of the hub: wires its parts, and brings changes of sessions to the chats."""

import logging
import queue
import threading
from collections.abc import Callable

from codekernel.adapters.chat.bindings import ChatBindings, ChatButtons
from codekernel.adapters.chat.commands import ChatCommands
from codekernel.adapters.chat.repository_queries import RepositoryQueries
from codekernel.adapters.chat.session_feed import SessionFeed
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.hub.service import HubSessions
from codekernel.adapters.lark.api import LarkApi
from codekernel.adapters.lark.connection import LongConnection
from codekernel.adapters.lark.delivery import ChatDelivery, LarkParts
from codekernel.adapters.lark.inbox import PLATFORM, LarkInbox
from codekernel.adapters.lark.store import LarkStore
from codekernel.domain.agent_sessions import SyncEvent, SyncEventKind
from codekernel.errors import KernelError, SessionNotFound

logger = logging.getLogger(__name__)

# While the kernel of a session is away.
RETRY_SECONDS = 2.0


# An event, a feed that is to be read, or a wake-up.
_Change = SyncEvent | SessionFeed | None


class LarkAdapter:
    """One bot; a ``ChatAdapter`` of the hub."""

    name = PLATFORM

    def __init__(
        self, api: LarkApi, database: HubDatabase, queries: RepositoryQueries, *, notices_only: bool
    ) -> None:
        bindings = ChatBindings(database, PLATFORM)
        buttons = ChatButtons(database, PLATFORM)
        self._parts = LarkParts(api, LarkStore(database), bindings, buttons, notices_only)
        self._queries = queries
        self._chats: dict[str, ChatDelivery] = {}
        self._lock = threading.Lock()
        self._changes: queue.SimpleQueue[_Change] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._apply_changes, name="lark:changes", daemon=True
        )
        self._stops: list[Callable[[], None]] = []

    def start(self, machines: HubSessions) -> None:
        """Begin to serve. Raises KernelError."""
        self._sessions = machines
        commands = ChatCommands(machines, self._parts.bindings, self._queries)
        inbox = LarkInbox(self._parts, machines, commands, self._get_chat, self._follow_binding)
        connection = LongConnection(self._parts.api.get_endpoint, inbox.receive)
        subscription = machines.subscribe(self._changes.put)
        self._stops = [connection.stop, inbox.stop, subscription.close]
        for chat_id, session_id, shown_seq in self._parts.store.list_feeds():
            self._follow(chat_id, session_id, shown_seq)
        self._thread.start()
        inbox.start()
        connection.start()

    def stop(self) -> None:
        """End; what was not sent is sent after the next start."""
        self._stopping.set()
        for stop in self._stops:
            stop()
        self._changes.put(None)
        if self._thread.ident is not None:
            self._thread.join()
        with self._lock:
            chats = list(self._chats.values())
        for chat in chats:
            chat.stop()
        self._parts.api.close()

    def _get_chat(self, chat_id: str) -> ChatDelivery:
        with self._lock:
            if chat_id not in self._chats:
                self._chats[chat_id] = ChatDelivery(self._parts, chat_id)
            return self._chats[chat_id]

    def _follow(self, chat_id: str, session_id: str, shown_seq: int) -> None:
        feed = SessionFeed(self._sessions, session_id, shown_seq)
        self._get_chat(chat_id).follow(feed)
        self._changes.put(feed)

    def _follow_binding(self, chat_id: str) -> None:
        """Show the session that a chat follows since its last command."""
        binding = self._parts.bindings.get_chat(chat_id)
        known = {feed.session_id for feed in self._get_chat(chat_id).list_feeds()}
        if binding.session_id and binding.session_id not in known:
            self._parts.store.save_feed(chat_id, binding.session_id, binding.shown_seq)
            self._follow(chat_id, binding.session_id, binding.shown_seq)
        self._get_chat(chat_id).wake()

    def _apply_changes(self) -> None:
        stale: set[SessionFeed] = set()
        while not self._stopping.is_set():
            try:
                change = self._changes.get(timeout=RETRY_SECONDS if stale else None)
            except queue.Empty:
                change = None
            with self._lock:
                chats = list(self._chats.values())
            for chat in chats:
                for feed in chat.list_feeds():
                    is_meant = (
                        isinstance(change, SyncEvent) and change.session_id == feed.session_id
                    )
                    if is_meant or feed is change or feed in stale:
                        self._refresh(chat, feed, change, stale)

    def _refresh(
        self, chat: ChatDelivery, feed: SessionFeed, change: _Change, stale: set[SessionFeed]
    ) -> None:
        """Bring a feed up to date; what cannot be read now is tried again."""
        try:
            if isinstance(change, SyncEvent) and change.kind is SyncEventKind.SESSION_REMOVED:
                chat.drop(feed.session_id)
            elif isinstance(change, SyncEvent) and feed.is_loaded and feed not in stale:
                feed.apply(change)
            else:
                feed.load()
            stale.discard(feed)
        except SessionNotFound:
            # Of a machine that is away: an event tells when it is back.
            stale.discard(feed)
        except KernelError as error:
            logger.info("a session cannot be read now: %s", error)
            stale.add(feed)
        chat.wake()
