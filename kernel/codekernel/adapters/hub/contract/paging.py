"""Pages of messages and their cursors.

The engine numbers messages, and a page is a range of numbers. The contract's cursors are pairs of
a number and a time; the time of a page's last cursor never falls below that of the cursor asked
with, so that clients, which compare times first, always see it advance.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from codekernel.adapters.hub.contract.messages import get_position, is_queued, render_message
from codekernel.domain.agent_sessions import (
    AgentSessions,
    MessagePage,
    SessionMessage,
)
from codekernel.domain.chat import JsonObject
from codekernel.errors import WrongParam

MAX_PAGE_SIZE, DEFAULT_PAGE_SIZE = 200, 50

_CURSOR_NAMES = (
    "nextBeforeSeq", "nextBeforeAt", "nextAfterSeq", "nextAfterAt",
    "snapshotHeadSeq", "snapshotHeadAt",
)  # fmt: skip

# Messages that are looked through for one that waits, or for a localId: more never wait at once.
MAX_SEARCHED = 5_000


@dataclass(frozen=True, slots=True)
class MessagePosition:
    """A cursor; the earlier contract had the number alone."""

    seq: int
    at: int = 0


@dataclass(frozen=True, slots=True)
class PageQuery:
    """Which page is asked for."""

    limit: int = DEFAULT_PAGE_SIZE
    before: MessagePosition | None = None
    after: MessagePosition | None = None
    until: MessagePosition | None = None
    epoch: int | None = None


def parse_page_query(query: Mapping[str, str]) -> PageQuery:
    """Parse the parameters of a request. Raises WrongParam."""
    limit = _parse_number(query, "limit")
    if limit is not None and not 1 <= limit <= MAX_PAGE_SIZE:
        raise WrongParam(f"`limit` must be from 1 to {MAX_PAGE_SIZE}.")
    before = _parse_position(query, "before", may_lack_time=True)
    after, until = _parse_position(query, "after"), _parse_position(query, "until")
    epoch = _parse_number(query, "epoch")
    if before and after:
        raise WrongParam("`before` and `after` exclude each other.")
    if after is None and (until or epoch is not None):
        raise WrongParam("`until` and `epoch` need an `after` cursor.")
    return PageQuery(limit or DEFAULT_PAGE_SIZE, before, after, until, epoch)


def _parse_position(
    query: Mapping[str, str], name: str, *, may_lack_time: bool = False
) -> MessagePosition | None:
    seq, at = _parse_number(query, f"{name}Seq"), _parse_number(query, f"{name}At")
    if seq is None and at is None:
        return None
    if seq is None or (at is None and not may_lack_time):
        raise WrongParam(f"`{name}Seq` and `{name}At` belong together.")
    return MessagePosition(seq, at or 0)


# Of 2 ** 53, up to which every number of JavaScript is exact.
MAX_NUMBER_DIGITS = 16


def _parse_number(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_NUMBER_DIGITS):
        raise WrongParam(f"`{name}` must be a whole number.")
    return int(text)


def read_page(sessions: AgentSessions, session_id: str, query: PageQuery) -> JsonObject:
    """Return the page that is asked for, as the contract writes it. Raises KernelError."""
    if query.after is not None:
        return _read_after(sessions, session_id, query, query.after)
    seq = query.before.seq if query.before else None
    page = sessions.read_messages(session_id, before_seq=seq, limit=query.limit)
    if query.before is not None:
        return _render_page("before", query, page, page.messages)
    return _render_latest(sessions, session_id, query, page)


def _read_after(
    sessions: AgentSessions, session_id: str, query: PageQuery, after: MessagePosition
) -> JsonObject:
    page = sessions.read_messages(
        session_id, after_seq=after.seq, limit=query.limit, epoch=query.epoch
    )
    if page.reset:
        latest = sessions.read_messages(session_id, limit=query.limit)
        return _render_latest(sessions, session_id, query, latest, is_reset=True)
    head = sessions.get_session(session_id).last_seq
    if query.until is not None:
        head = min(head, query.until.seq)
    messages = [each for each in page.messages if each.seq <= head]
    last = messages[-1].seq if messages else after.seq
    latest_at = max([after.at, *(get_position(each) for each in messages)])
    head_at = max(latest_at, query.until.at if query.until else 0)
    return {
        "messages": [render_message(each) for each in messages],
        "page": _render_cursors("after", query, page.epoch)
        | {
            "nextAfterSeq": last,
            "nextAfterAt": latest_at,
            "snapshotHeadSeq": max(head, last),
            "snapshotHeadAt": head_at,
            "hasMore": bool(messages) and last < head,
        },
    }


def _render_latest(
    sessions: AgentSessions,
    session_id: str,
    query: PageQuery,
    page: MessagePage,
    *,
    is_reset: bool = False,
) -> JsonObject:
    """Return the newest page and, in front of it, what still waits and lies before it."""
    waiting = _find_waiting(sessions, session_id, page.messages)
    return _render_page("latest", query, page, (*waiting, *page.messages), is_reset=is_reset)


def _render_page(
    direction: str,
    query: PageQuery,
    page: MessagePage,
    shown: Sequence[SessionMessage],
    *,
    is_reset: bool = False,
) -> JsonObject:
    cursors = _render_cursors(direction, query, page.epoch) | {
        "reset": is_reset,
        "hasMore": page.has_more,
    }
    if page.messages:
        first, last = page.messages[0], page.messages[-1]
        cursors |= {
            "nextBeforeSeq": first.seq,
            "nextBeforeAt": get_position(first),
            "snapshotHeadSeq": last.seq,
            "snapshotHeadAt": max(map(get_position, page.messages)),
        }
    return {"messages": [render_message(each) for each in shown], "page": cursors}


def _render_cursors(direction: str, query: PageQuery, epoch: int) -> JsonObject:
    none = dict.fromkeys(_CURSOR_NAMES)
    told = {"direction": direction, "limit": query.limit, "epoch": epoch, "reset": False}
    return {**told, **none, "hasMore": False}


def _find_waiting(
    sessions: AgentSessions, session_id: str, shown: Sequence[SessionMessage]
) -> list[SessionMessage]:
    """Return the messages before a page that still wait, oldest first."""
    missing = sessions.get_session(session_id).queued_count - sum(map(is_queued, shown))
    if missing <= 0 or not shown:
        return []
    found: list[SessionMessage] = []
    for message in iterate_backwards(sessions, session_id, shown[0].seq):
        if is_queued(message):
            found.append(message)
            if len(found) == missing:
                break
    return found[::-1]


def iterate_backwards(
    sessions: AgentSessions, session_id: str, before_seq: int | None = None
) -> Iterator[SessionMessage]:
    """Yield messages, the newest first; no more than MAX_SEARCHED."""
    for _ in range(MAX_SEARCHED // MAX_PAGE_SIZE):
        page = sessions.read_messages(session_id, before_seq=before_seq, limit=MAX_PAGE_SIZE)
        yield from reversed(page.messages)
        if not page.has_more or not page.messages:
            return
        before_seq = page.messages[0].seq
