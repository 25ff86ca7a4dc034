"""What can still be read of a damaged conversation-<id>.json: every turn that is whole."""

import json
import re
from typing import Any

import msgspec

from kernel.protocol.history_file import History, TurnEntry

_TURN = re.compile(r'\{\s*"query"\s*:')
_DECODER = json.JSONDecoder()


def salvage_history(content: bytes, conversation_id: int) -> History | None:
    """Return the history with the turns that are whole; None if nothing of one can be read."""
    text = content.decode("utf-8", "replace")
    turns = _whole_turns(text)
    topic, repo_path = _text_field(text, "topic"), _text_field(text, "repoPath")
    if not turns and topic is None:
        return None
    return History.of(
        {
            "conversationId": conversation_id,
            "topic": topic if topic is not None else turns[0]["query"],
            "history": turns,
            "repoPath": repo_path or "",
        }
    )


def _whole_turns(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    place = 0
    while begin := _TURN.search(text, place):
        try:
            turn, place = _DECODER.raw_decode(text, begin.start())
            msgspec.convert(turn, TurnEntry)
        except (ValueError, RecursionError):
            place = begin.end()
            continue
        found.append(turn)
    return found


def _text_field(text: str, name: str) -> str | None:
    """The first string of this name; repoPath stands behind all turns, topic before them."""
    places = [match.end() for match in re.finditer(rf'"{name}"\s*:\s*(?=")', text)]
    for place in places if name == "topic" else reversed(places):
        try:
            value, _ = _DECODER.raw_decode(text, place)
        except ValueError:
            continue
        if isinstance(value, str):
            return value
    return None
