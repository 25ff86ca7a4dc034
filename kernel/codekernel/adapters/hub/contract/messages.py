"""Messages of a session as the contract writes them: envelopes, pages of them, and cursors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codekernel.adapters.uap.messages import wrap_in_envelope
from codekernel.domain import chat
from codekernel.domain.agent_sessions import (
    META_NOTICE,
    AgentSessions,
    MessagePage,
    SessionMessage,
)
from codekernel.domain.chat import AgentMessage, JsonObject, TextContent
from codekernel.errors import WrongParam

# Longer texts of an agent are cut in the middle, as the contract does; a user's text never is.
MAX_TEXT_CHARS = 64 * 1024

_HEAD_CHARS, _TAIL_CHARS = 48 * 1024, 12 * 1024


def get_position(message: SessionMessage) -> int:
    """Return the time by which clients place a message: when the agent took it, else its own."""
    return message.created_at if message.invoked_at is None else message.invoked_at


def is_queued(message: SessionMessage) -> bool:
    """Return whether a user's message still waits for the agent."""
    return is_from_user(message) and message.invoked_at is None


def is_from_user(message: SessionMessage) -> bool:
    """Return whether a person said it; results of tools have the role of a user, too."""
    blocks = message.message.content
    return message.message.role == chat.ROLE_USER and all(
        isinstance(block, TextContent) for block in blocks
    )


def render_message(message: SessionMessage) -> JsonObject:
    """Return a message as clients read it; ``invokedAt`` is null while it waits.

    Clients find a message that waits by its localId; without one it counts as taken.
    """
    waits = is_queued(message) and bool(message.local_id)
    return {
        "id": message.id,
        "seq": message.seq,
        "localId": message.local_id or None,
        "content": render_content(message),
        "createdAt": message.created_at,
        "invokedAt": None if waits else get_position(message),
    }


def render_content(message: SessionMessage) -> JsonObject:
    """Return the envelope of a message."""
    said = message.message
    meta = {"sentFrom": message.actor.device, **said.meta}
    if is_from_user(message):
        content: JsonObject = {"type": "text", "text": _join_texts(said)}
        return {"role": chat.ROLE_USER, "content": content, "meta": meta}
    if META_NOTICE in said.meta:
        event = {"type": "message", "message": _join_texts(said)}
        content = {"type": "event", "data": event}
        return {"role": chat.ROLE_AGENT, "content": content, "meta": meta}
    envelope = wrap_in_envelope(said)
    envelope["content"]["data"]["uuid"] = message.id
    shortened: JsonObject = shorten_texts(envelope)
    return {**shortened, "meta": meta}


def _join_texts(message: AgentMessage) -> str:
    return "\n".join(block.text for block in message.content if isinstance(block, TextContent))


def shorten_texts(value: Any) -> Any:
    """Return a JSON value with its long texts cut in the middle."""
    match value:
        case str() if len(value) > MAX_TEXT_CHARS:
            left_out = len(value) - _HEAD_CHARS - _TAIL_CHARS
            mark = f"\n…[hapi: truncated {left_out} chars]…\n"
            return f"{value[:_HEAD_CHARS]}{mark}{value[-_TAIL_CHARS:]}"
        case dict():
            return {key: shorten_texts(each) for key, each in value.items()}
        case list():
            return [shorten_texts(each) for each in value]
        case _:
            return value


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
