"""What was sent to Telegram and what is to be sent, in the hub's database.

A message is recorded before it is sent, and its number after: a number of 0 means that the answer
did not come, and that the message may be there.
"""

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.telegram.rendering import DocumentPage, Page, PageButton, TextPage

MIGRATIONS = (
    "CREATE TABLE telegram_counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT",
    """CREATE TABLE telegram_item (
        order_no INTEGER PRIMARY KEY AUTOINCREMENT, chat_id TEXT NOT NULL, item_key TEXT NOT NULL,
        pages TEXT NOT NULL, is_final INTEGER NOT NULL, is_done INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL, UNIQUE (chat_id, item_key)
    ) STRICT""",
    """CREATE TABLE telegram_message (
        chat_id TEXT NOT NULL, item_key TEXT NOT NULL, page_no INTEGER NOT NULL,
        message_id INTEGER NOT NULL, digest TEXT NOT NULL, after_id INTEGER NOT NULL,
        content TEXT NOT NULL, PRIMARY KEY (chat_id, item_key, page_no)
    ) STRICT""",
)

# The number of a message that was sent, and whose answer did not come.
UNKNOWN_MESSAGE_ID = 0

# Of a message that cannot be edited any more, because somebody has deleted it.
GONE_MESSAGE_ID = -1

# As long as an update may be repeated; then its reply may be forgotten.
DONE_LIFETIME_SECONDS = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class SentPage:
    """A page that was sent, or whose sending was begun after the message ``after_id``."""

    item_key: str
    page_no: int
    message_id: int
    digest: str
    after_id: int
    content: str = ""


@dataclass(frozen=True, slots=True)
class StoredItem:
    """Pages that are to be sent together, in the order in which they were put."""

    chat_id: str
    key: str
    pages: tuple[Page, ...]
    is_final: bool


class MessageStore:
    """The tables of Telegram; safe to use from any thread. Raises StorageError."""

    def __init__(self, database: HubDatabase) -> None:
        database.migrate("telegram", MIGRATIONS)
        self._database = database
        with database.write() as connection:
            connection.execute(
                "DELETE FROM telegram_item WHERE is_done AND created_at < ?",
                (int(time.time()) - DONE_LIFETIME_SECONDS,),
            )

    def get_counter(self, name: str) -> int:
        """Return a number that was kept; 0 if there is none."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT value FROM telegram_counter WHERE name = ?", (name,)
            ).fetchone()
        return int(row[0]) if row else 0

    def raise_counter(self, name: str, value: int) -> None:
        """Keep a number, unless a higher one is kept."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO telegram_counter VALUES (?1, ?2)"
                " ON CONFLICT (name) DO UPDATE SET value = max(value, ?2)",
                (name, value),
            )

    def put_item(self, item: StoredItem) -> bool:
        """Keep the pages of an item; false if they were sent before."""
        with self._database.write() as connection:
            changed = connection.execute(
                "INSERT INTO telegram_item (chat_id, item_key, pages, is_final, created_at)"
                " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (chat_id, item_key)"
                " DO UPDATE SET pages = ?3, is_final = ?4 WHERE NOT is_done",
                (
                    item.chat_id,
                    item.key,
                    _encode_pages(item.pages),
                    item.is_final,
                    int(time.time()),
                ),
            )
            return changed.rowcount > 0

    def list_items(self) -> list[StoredItem]:
        """Return the items that are not done, in their order."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT chat_id, item_key, pages, is_final FROM telegram_item"
                " WHERE NOT is_done ORDER BY order_no"
            ).fetchall()
        return [
            StoredItem(chat_id, key, _decode_pages(pages), bool(is_final))
            for chat_id, key, pages, is_final in rows
        ]

    def finish_item(self, chat_id: str, key: str) -> None:
        """Record that an item is done; putting it again has no effect."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE telegram_item SET is_done = 1, pages = '[]'"
                " WHERE chat_id = ? AND item_key = ?",
                (chat_id, key),
            )
            connection.execute(
                "DELETE FROM telegram_message WHERE chat_id = ? AND item_key = ?", (chat_id, key)
            )

    def list_sent(self, chat_id: str) -> list[SentPage]:
        """Return the pages of a chat's items that are not done."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT item_key, page_no, message_id, digest, after_id, content"
                " FROM telegram_message WHERE chat_id = ? ORDER BY item_key, page_no",
                (chat_id,),
            ).fetchall()
        return [SentPage(*row) for row in rows]

    def save_sent(self, chat_id: str, page: SentPage) -> None:
        """Keep what is known of a page."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO telegram_message VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    chat_id,
                    page.item_key,
                    page.page_no,
                    page.message_id,
                    page.digest,
                    page.after_id,
                    page.content,
                ),
            )

    def remove_sent(self, chat_id: str, page: SentPage) -> None:
        """Forget a page that is not in the chat."""
        with self._database.write() as connection:
            connection.execute(
                "DELETE FROM telegram_message WHERE chat_id = ? AND item_key = ? AND page_no = ?",
                (chat_id, page.item_key, page.page_no),
            )


def _encode_pages(pages: tuple[Page, ...]) -> str:
    return json.dumps(
        [
            ["document", page.name, page.text, page.caption]
            if isinstance(page, DocumentPage)
            else [
                "text",
                page.html,
                [[button.label, button.data] for button in page.buttons],
                page.is_silent,
            ]
            for page in pages
        ]
    )


def _decode_pages(text: str) -> tuple[Page, ...]:
    return tuple(
        DocumentPage(*fields)
        if kind == "document"
        else TextPage(fields[0], tuple(PageButton(*button) for button in fields[1]), fields[2])
        for kind, *fields in json.loads(text)
    )


DOCUMENT_PREFIX = "document:"


@dataclass(slots=True)
class OutgoingItem:
    """Pages that follow each other, and the messages that were sent of them."""

    key: str
    pages: tuple[Page, ...]
    is_final: bool
    sent: dict[int, SentPage] = field(default_factory=dict)
    worked_at: float = 0.0
    is_reported: bool = False
    # A step is under way: what is in the chat is not certain.
    is_busy: bool = False

    @property
    def is_delivered(self) -> bool:
        """Whether everything that is final is in the chat."""
        return self.is_final and not self.is_busy and next(list_steps(self), None) is None


@dataclass(frozen=True, slots=True)
class SendPage:
    """Send a page that is not in the chat."""

    page: Page
    page_no: int


@dataclass(frozen=True, slots=True)
class EditPage:
    """Bring a message up to date."""

    page: TextPage
    sent: SentPage


@dataclass(frozen=True, slots=True)
class DeletePage:
    """Delete a message whose place is needed, or that is not needed any more."""

    sent: SentPage


@dataclass(frozen=True, slots=True)
class FindPage:
    """Look whether a message is in the chat whose answer did not come."""

    sent: SentPage


PageStep = SendPage | EditPage | DeletePage | FindPage


def list_steps(item: OutgoingItem) -> Iterator[PageStep]:
    """Yield what an item lacks, in the order in which it is done."""
    yield from (FindPage(it) for it in item.sent.values() if it.message_id == UNKNOWN_MESSAGE_ID)
    if not _can_keep_all(item):
        # The last one first: what is sent in its place comes after the others.
        yield DeletePage(item.sent[max(item.sent)])
    missing = [number for number in range(len(item.pages)) if number not in item.sent]
    if missing:
        yield SendPage(item.pages[missing[0]], missing[0])
    for number, page in enumerate(item.pages):
        sent = item.sent.get(number)
        if sent is None or sent.message_id == GONE_MESSAGE_ID or isinstance(page, DocumentPage):
            continue
        if sent.digest != compute_digest(page):
            yield EditPage(page, sent)


def _can_keep_all(item: OutgoingItem) -> bool:
    """Return whether every message that was sent can become the page of its place by an edit."""
    return all(
        number < len(item.pages) and _can_become(sent, item.pages[number])
        for number, sent in item.sent.items()
    )


def _can_become(sent: SentPage, page: Page) -> bool:
    is_document = sent.digest.startswith(DOCUMENT_PREFIX)
    if is_document or isinstance(page, DocumentPage):
        return sent.digest == compute_digest(page)
    return True


def compute_digest(page: Page) -> str:
    """Return what tells two states of a message apart."""
    if isinstance(page, DocumentPage):
        content = f"{page.name}\0{page.text}".encode(errors="replace")
        return DOCUMENT_PREFIX + hashlib.sha256(content).hexdigest()
    buttons = "\0".join(f"{each.label}\0{each.data}" for each in page.buttons)
    return hashlib.sha256(f"{page.html}\0{buttons}".encode(errors="replace")).hexdigest()
