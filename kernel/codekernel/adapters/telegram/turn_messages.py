"""Sends what a chat is to show, and edits it as it changes: within the rates, in order, once.

An item is a turn, a reply or a permission: pages that follow each other. The last state that was
put is always delivered; states between may be skipped.

Telegram has no key by which a message that was sent twice is recognised. So a message is recorded
before it is sent; if no answer comes, the numbers that it may have are tried with an edit, which
changes nothing if it is there, before it is sent again.
"""

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from codekernel.adapters.chat.session_feed import ChatPace, RateLimit
from codekernel.adapters.telegram.api import TelegramApi, TelegramRefused, TelegramUnreachable
from codekernel.adapters.telegram.message_store import (
    DOCUMENT_PREFIX,
    GONE_MESSAGE_ID,
    UNKNOWN_MESSAGE_ID,
    DeletePage,
    EditPage,
    FindPage,
    MessageStore,
    OutgoingItem,
    PageStep,
    SendPage,
    SentPage,
    StoredItem,
    compute_digest,
    list_steps,
)
from codekernel.adapters.telegram.rendering import DocumentPage, Page, TextPage
from codekernel.errors import KernelError

logger = logging.getLogger(__name__)

# Telegram's advice is one message per second and chat, and twenty per minute in a group.
PRIVATE_LIMIT = RateLimit(1.05)

GROUP_LIMIT = RateLimit(1.05, max_per_minute=20)

# Messages that people and other chats have sent since the last number that is known.
MAX_PROBES = 10

# After a failure of the network, doubled each time.
FIRST_RETRY_SECONDS = 1.0

MAX_RETRY_SECONDS = 60.0

# Chats below this number have numbers of their own; all others share those of the bot.
_MAX_SUPERGROUP_ID = -1_000_000_000_000


@dataclass(slots=True)
class _OutgoingChat:
    id: str
    pace: ChatPace
    items: dict[str, OutgoingItem] = field(default_factory=dict)


class DeliveryListener(Protocol):
    """Is told what became of items; called on the sender's thread, and must not block."""

    def item_delivered(self, chat_id: str, key: str) -> None:
        """A final item is in the chat, whole."""

    def chat_gone(self, chat_id: str) -> None:
        """The bot cannot write to a chat any more; its items are dropped."""


class TurnMessages:
    """Delivers items on a thread of its own; ``put`` may be called from any thread."""

    def __init__(
        self,
        api: TelegramApi,
        store: MessageStore,
        listener: DeliveryListener,
        limits: tuple[RateLimit, RateLimit] = (PRIVATE_LIMIT, GROUP_LIMIT),
    ) -> None:
        """Take up what an earlier process has left; ``limits`` are of a person and of a group."""
        self._api = api
        self._store = store
        self._listener = listener
        self._limits = limits
        self._changed = threading.Condition()
        self._chats: dict[str, _OutgoingChat] = {}
        self._is_stopping = False
        self._retry_seconds = 0.0
        self._retry_at = 0.0
        self._thread = threading.Thread(target=self._run, name="telegram:send", daemon=True)
        for item in store.list_items():
            self._put(item)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def stop(self, timeout_seconds: float) -> None:
        """Send nothing more; what was not sent is sent after the next start."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout_seconds)

    def put(self, chat_id: str, key: str, pages: Sequence[Page], *, is_final: bool) -> None:
        """Show pages in a chat in the place of those that the item had before."""
        item = StoredItem(chat_id, key, tuple(pages), is_final)
        with self._changed:
            if self._store.put_item(item):
                self._put(item)
                self._changed.notify_all()

    def list_open(self, chat_id: str) -> dict[str, Sequence[Page]]:
        """Return the items of a chat that are not finished, and what they are to show."""
        with self._changed:
            chat = self._chats.get(chat_id)
            return {key: item.pages for key, item in chat.items.items()} if chat else {}

    def is_delivered(self, chat_id: str, key: str) -> bool:
        """Return whether everything that was put for an item is in the chat, and final."""
        with self._changed:
            chat = self._chats.get(chat_id)
            item = chat.items.get(key) if chat else None
            return item is not None and item.is_delivered

    def finish(self, chat_id: str, key: str) -> None:
        """Forget an item; it stays in the chat as it is."""
        with self._changed:
            self._store.finish_item(chat_id, key)
            chat = self._chats.get(chat_id)
            if chat is not None:
                chat.items.pop(key, None)

    def note_message_id(self, chat_id: str, message_id: int) -> None:
        """Note the number of a message of somebody else."""
        self._store.raise_counter(_name_counter(chat_id), message_id)

    def _put(self, item: StoredItem) -> None:
        chat = self._chats.get(item.chat_id)
        if chat is None:
            is_group = item.chat_id.startswith("-")
            chat = _OutgoingChat(item.chat_id, ChatPace(self._limits[is_group]))
            self._chats[item.chat_id] = chat
        known = chat.items.get(item.key)
        if known is None:
            sent = [it for it in self._store.list_sent(item.chat_id) if it.item_key == item.key]
            pages = {it.page_no: it for it in sent}
            chat.items[item.key] = OutgoingItem(item.key, item.pages, item.is_final, pages)
        else:
            known.pages, known.is_final = item.pages, item.is_final
            known.is_reported = False

    def _run(self) -> None:
        while True:
            with self._changed:
                found = self._wait_for_step()
            if found is None:
                return
            chat, item, step = found
            try:
                self._perform(chat, item, step)
                self._retry_seconds = 0.0
            except TelegramRefused as error:
                self._handle_refusal(chat, error)
            except KernelError as error:  # no network, or the disk is full
                self._postpone_all(error)
            except Exception:  # the guard of this thread: other chats go on
                logger.exception("Telegram: a message cannot be sent")
                chat.pace.postpone(time.monotonic(), MAX_RETRY_SECONDS)
            finally:
                with self._changed:
                    item.is_busy = False

    def _wait_for_step(self) -> tuple[_OutgoingChat, OutgoingItem, PageStep] | None:
        """Return the next step that is due; None at the end. The lock is held."""
        while not self._is_stopping:
            now = time.monotonic()
            next_at = now + MAX_RETRY_SECONDS
            for chat in sorted(self._chats.values(), key=lambda it: it.pace.due_at):
                found = self._choose_step(chat)
                if found is None:
                    continue
                due_at = max(chat.pace.due_at, self._retry_at)
                if due_at <= now:
                    found[0].is_busy = True
                    return (chat, *found)
                next_at = min(next_at, due_at)
            self._changed.wait(next_at - now)
        return None

    def _choose_step(self, chat: _OutgoingChat) -> tuple[OutgoingItem, PageStep] | None:
        """Return the most urgent step: finding what may be there, new messages, then edits.

        A message that may be there is looked for before any other is sent, or the other one
        would be taken for it.
        """
        best: tuple[int, float, int] | None = None
        chosen: tuple[OutgoingItem, PageStep] | None = None
        for place, item in enumerate(list(chat.items.values())):
            step = next(list_steps(item), None)
            if step is None:
                self._report(chat, item)
                continue
            if isinstance(step, FindPage):
                rank = (0, 0.0, place)
            elif isinstance(step, EditPage):
                rank = (2, item.worked_at, place)
            else:
                rank = (1, 0.0, place)
            if best is None or rank < best:
                best, chosen = rank, (item, step)
        return chosen

    def _report(self, chat: _OutgoingChat, item: OutgoingItem) -> None:
        if item.is_delivered and not item.is_reported:
            item.is_reported = True
            self._listener.item_delivered(chat.id, item.key)

    def _perform(self, chat: _OutgoingChat, item: OutgoingItem, step: PageStep) -> None:
        match step:
            case FindPage():
                self._find_page(chat, item, step.sent)
            case SendPage():
                self._send_page(chat, item, step)
            case EditPage():
                self._edit_page(chat, item, step)
            case DeletePage():
                self._delete_page(chat, item, step.sent)
        item.worked_at = time.monotonic()
        chat.pace.record(time.monotonic())

    def _handle_refusal(self, chat: _OutgoingChat, error: TelegramRefused) -> None:
        if error.is_rate_limited:
            logger.info("Telegram asks for %s s of patience", error.retry_after_seconds)
            chat.pace.postpone(time.monotonic(), error.retry_after_seconds)
        elif error.is_chat_gone:
            self._drop_chat(chat)
        else:
            self._postpone_all(error)

    def _send_page(self, chat: _OutgoingChat, item: OutgoingItem, step: SendPage) -> None:
        page, digest = step.page, compute_digest(step.page)
        content = page.html if isinstance(page, TextPage) else ""
        after_id = self._store.get_counter(_name_counter(chat.id))
        begun = SentPage(item.key, step.page_no, UNKNOWN_MESSAGE_ID, digest, after_id, content)
        self._save(chat, item, begun)
        try:
            message_id = self._send(chat.id, page)
        except TelegramUnreachable as error:
            if not error.is_sent:
                self._remove(chat, item, begun)
            raise
        except TelegramRefused as error:
            if error.is_passing:
                self._remove(chat, item, begun)
                raise
            # Another attempt would fail as well, and hold up everything behind it.
            logger.warning("a file was refused by Telegram: %s", error.description)
            message_id = GONE_MESSAGE_ID
        else:
            self.note_message_id(chat.id, message_id)
        self._save(chat, item, replace(begun, message_id=message_id, content=""))

    def _send(self, chat_id: str, page: Page) -> int:
        if isinstance(page, DocumentPage):
            return self._api.send_document(chat_id, page.name, page.text, page.caption)
        try:
            return self._api.send_message(
                chat_id, page.html, page.buttons, is_silent=page.is_silent
            )
        except TelegramRefused as error:
            if error.is_passing:
                raise
            logger.warning("a message was refused by Telegram: %s", error.description)
            caption = "Telegram refused this message."
            return self._api.send_document(chat_id, "message.html", page.html, caption)

    def _edit_page(self, chat: _OutgoingChat, item: OutgoingItem, step: EditPage) -> None:
        message_id = step.sent.message_id
        # Until the answer is there, nobody knows what the message says.
        self._save(chat, item, replace(step.sent, digest=""))
        try:
            self._api.edit_message(chat.id, message_id, step.page.html, step.page.buttons)
        except TelegramRefused as error:
            if error.is_passing:
                raise
            if not error.is_unchanged:
                logger.info("a message in Telegram cannot be edited: %s", error.description)
                message_id = GONE_MESSAGE_ID
        digest = compute_digest(step.page)
        self._save(chat, item, replace(step.sent, message_id=message_id, digest=digest))

    def _delete_page(self, chat: _OutgoingChat, item: OutgoingItem, sent: SentPage) -> None:
        if sent.message_id != GONE_MESSAGE_ID:
            try:
                self._api.delete_message(chat.id, sent.message_id)
            except TelegramRefused as error:
                if error.is_passing:
                    raise
                logger.info("a message in Telegram cannot be deleted: %s", error.description)
        self._remove(chat, item, sent)

    def _find_page(self, chat: _OutgoingChat, item: OutgoingItem, sent: SentPage) -> None:
        """Look whether a message is there whose answer did not come; else forget it."""
        is_document = sent.digest.startswith(DOCUMENT_PREFIX)
        for message_id in range(sent.after_id + 1, sent.after_id + 1 + MAX_PROBES):
            if self._is_message(chat.id, message_id, sent.content, is_document=is_document):
                self.note_message_id(chat.id, message_id)
                # Its buttons were removed by looking, so it is edited next.
                digest = sent.digest if is_document else ""
                found = replace(sent, message_id=message_id, content="", digest=digest)
                self._save(chat, item, found)
                return
        self._remove(chat, item, sent)

    def _is_message(self, chat_id: str, message_id: int, html: str, *, is_document: bool) -> bool:
        try:
            self._api.edit_message(chat_id, message_id, html or "…")
        except TelegramRefused as error:
            if error.is_passing:
                raise
            has_no_text = "no text in the message" in error.description
            return has_no_text if is_document else error.is_unchanged
        return not is_document

    def _drop_chat(self, chat: _OutgoingChat) -> None:
        logger.warning("Telegram: the chat %s cannot be written to any more", chat.id)
        with self._changed:
            for key in list(chat.items):
                self._store.finish_item(chat.id, key)
            chat.items.clear()
        self._listener.chat_gone(chat.id)

    def _save(self, chat: _OutgoingChat, item: OutgoingItem, page: SentPage) -> None:
        with self._changed:
            if chat.items.get(item.key) is item:
                self._store.save_sent(chat.id, page)
                item.sent[page.page_no] = page

    def _remove(self, chat: _OutgoingChat, item: OutgoingItem, page: SentPage) -> None:
        with self._changed:
            self._store.remove_sent(chat.id, page)
            item.sent.pop(page.page_no, None)

    def _postpone_all(self, error: KernelError) -> None:
        with self._changed:
            if self._is_stopping:
                return
            if not self._retry_seconds:
                logger.warning("Telegram: %s", error)
            doubled = self._retry_seconds * 2 or FIRST_RETRY_SECONDS
            self._retry_seconds = min(doubled, MAX_RETRY_SECONDS)
            self._retry_at = time.monotonic() + self._retry_seconds


def _name_counter(chat_id: str) -> str:
    is_supergroup = int(chat_id) <= _MAX_SUPERGROUP_ID
    return f"last:{chat_id}" if is_supergroup else "last:account"
