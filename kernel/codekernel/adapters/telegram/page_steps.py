"""What an item in a chat lacks: the steps from the messages that were sent to its pages.

Pure functions, except that an item is changed by who delivers it.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from codekernel.adapters.telegram.message_store import (
    GONE_MESSAGE_ID,
    UNKNOWN_MESSAGE_ID,
    SentPage,
)
from codekernel.adapters.telegram.rendering import DocumentPage, Page, TextPage

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
