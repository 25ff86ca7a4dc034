"""Read conversation files that are damaged, or were written by PocketRAG's own kernel.

Of a damaged file every intact turn is salvaged.
"""

import json
import re
from typing import Any

import msgspec

from codekernel.protocol.envelope import dump_json, load_json
from codekernel.protocol.history_file import ConversationHistory, UnreadableHistoryError
from codekernel.protocol.messages.history import TurnEntry

_TURN_START = re.compile(r'\{\s*"query"\s*:')

_JSON_DECODER = json.JSONDecoder()


def salvage_history(content: bytes, conversation_id: int) -> ConversationHistory | None:
    """Return the history with the turns that are whole; None if nothing of one can be read."""
    text = content.decode("utf-8", "replace")
    turns = _find_intact_turns(text)
    topic, repo_path = _find_text_field(text, "topic"), _find_text_field(text, "repoPath")
    if not turns and topic is None:
        return None
    return ConversationHistory(
        {
            "conversationId": conversation_id,
            "topic": topic if topic is not None else turns[0]["query"],
            "history": turns,
            "repoPath": repo_path or "",
        }
    )


def _find_intact_turns(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    place = 0
    while begin := _TURN_START.search(text, place):
        try:
            turn, place = _JSON_DECODER.raw_decode(text, begin.start())
            msgspec.convert(turn, TurnEntry)
        except (ValueError, RecursionError):
            place = begin.end()
            continue
        found.append(turn)
    return found


def _find_text_field(text: str, name: str) -> str | None:
    """The first string of this name; repoPath stands behind all turns, topic before them."""
    places = [match.end() for match in re.finditer(rf'"{name}"\s*:\s*(?=")', text)]
    for place in places if name == "topic" else reversed(places):
        try:
            value, _ = _JSON_DECODER.raw_decode(text, place)
        except ValueError:
            continue
        if isinstance(value, str):
            return value
    return None


_NO_RESULT = {"metadata": "", "beginLine": 0, "endLine": 0, "filePath": "", "content": ""}


def read_pocketrag_history(
    content: bytes, conversation_id: int, repo_path: str
) -> ConversationHistory | None:
    """Return what can be read of such a file; None if that is nothing.

    A turn that was stopped or failed there lacks ``answer`` or ``retrieval``.
    """
    try:
        document = load_json(content)
        turns = document["history"]
        history = {
            **document,
            "conversationId": conversation_id,
            "topic": str(document.get("topic") or ""),
            "history": [_complete_turn(turn) for turn in turns if isinstance(turn, dict)],
            "repoPath": repo_path,
        }
        return ConversationHistory.from_bytes(dump_json(history), conversation_id)
    except (ValueError, TypeError, KeyError, AttributeError, UnreadableHistoryError):
        salvaged = salvage_history(content, conversation_id)
        return salvaged.with_repo_path(repo_path) if salvaged else None


def build_context_messages(history: ConversationHistory) -> list[dict[str, Any]]:
    """Return the turns as the messages that PocketRAG's kernel continues with."""
    return [
        {"role": role, "content": text}
        for turn in history.list_turns()
        for role, text in (("user", turn.query), ("assistant", turn.answer))
        if text
    ]


def _complete_turn(turn: dict[str, Any]) -> dict[str, Any]:
    return {
        **turn,
        "query": str(turn.get("query") or ""),
        "retrieval": [_complete_round(each) for each in _list_objects(turn.get("retrieval"))],
        "answer": str(turn.get("answer") or ""),
        "time": int(turn.get("time") or 0),
    }


def _complete_round(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "annotation": str(found.get("annotation") or ""),
        "search": [str(each) for each in found.get("search") or []],
        "result": [_NO_RESULT | each for each in _list_objects(found.get("result"))],
    }


def _list_objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
