"""What users do in Lark, parsed: messages and clicks. Pure functions."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from codekernel.adapters.lark.cards import BUTTON_KEY
from codekernel.adapters.lark.connection import CLICK_EVENT, MESSAGE_EVENT, get_event_type

TEXT_KIND, RICH_TEXT_KIND = "text", "post"


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A user's message; ``text`` is None if it is a picture, a file or another thing."""

    event_id: str
    message_id: str
    chat_id: str
    user_id: str
    kind: str
    text: str | None


@dataclass(frozen=True, slots=True)
class IncomingClick:
    """A button that a user pressed; ``button_id`` is what we have given it."""

    event_id: str
    chat_id: str
    user_id: str
    button_id: str


def parse_event(event: dict[str, Any]) -> IncomingMessage | IncomingClick | None:
    """Parse an event of the long connection; None for what is no message of a user, or broken."""
    try:
        event_id = str(event["header"]["event_id"])
        if get_event_type(event) == MESSAGE_EVENT:
            return _parse_message(event_id, event["event"])
        if get_event_type(event) == CLICK_EVENT:
            return _parse_click(event_id, event["event"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return None


def _parse_message(event_id: str, event: dict[str, Any]) -> IncomingMessage | None:
    message, sender = event["message"], event["sender"]
    if sender.get("sender_type", "user") != "user":
        return None  # bots do not talk to each other
    kind = str(message["message_type"])
    text = _read_text(kind, json.loads(message["content"]))
    for mention in message.get("mentions") or ():
        text = text and text.replace(str(mention["key"]), "")
    return IncomingMessage(
        event_id,
        str(message["message_id"]),
        str(message["chat_id"]),
        str(sender["sender_id"]["open_id"]),
        kind,
        None if text is None else text.strip(),
    )


def _read_text(kind: str, content: dict[str, Any]) -> str | None:
    if kind == TEXT_KIND:
        return str(content["text"])
    if kind == RICH_TEXT_KIND:
        return "\n".join(_iterate_rich_lines(content))
    return None


def _iterate_rich_lines(content: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a text with formats, which pasting makes; pictures are left out."""
    if content.get("title"):
        yield str(content["title"])
    for line in content.get("content") or ():
        yield "".join(str(part.get("text", "")) for part in line if part.get("tag") != "at")


def _parse_click(event_id: str, event: dict[str, Any]) -> IncomingClick:
    value = event["action"]["value"]
    return IncomingClick(
        event_id,
        str(event["context"]["open_chat_id"]),
        str(event["operator"]["open_id"]),
        str(value[BUTTON_KEY]),
    )
