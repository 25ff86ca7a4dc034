"""Conversations in the files of PocketRAG's own kernel: less strict than ours, and read as ours."""

from typing import Any

from kernel.protocol.history_file import History, UnreadableHistory
from kernel.protocol.history_salvage import salvage_history
from kernel.protocol.plain_json import dumped, loaded

_RESULT: dict[str, Any] = {"metadata": "", "beginLine": 0, "endLine": 0, "filePath": ""}


def read_front_end_history(content: bytes, conversation_id: int, repo_path: str) -> History | None:
    """Return what can be read of such a file; None if that is nothing.

    A turn that was stopped or failed there lacks ``answer`` or ``retrieval``.
    """
    try:
        document = loaded(content)
        turns = document["history"]
        history = {
            **document,
            "conversationId": conversation_id,
            "topic": str(document.get("topic") or ""),
            "history": [_whole_turn(turn) for turn in turns if isinstance(turn, dict)],
            "repoPath": repo_path,
        }
        return History.read(dumped(history), conversation_id)
    except (ValueError, TypeError, KeyError, AttributeError, UnreadableHistory):
        salvaged = salvage_history(content, conversation_id)
        return salvaged.moved_to(repo_path) if salvaged else None


def context_messages(history: History) -> list[dict[str, Any]]:
    """Return what was said as the messages that PocketRAG's kernel goes on with."""
    return [
        {"role": role, "content": text}
        for turn in history.turns()
        for role, text in (("user", turn.query), ("assistant", turn.answer))
        if text
    ]


def _whole_turn(turn: dict[str, Any]) -> dict[str, Any]:
    rounds = turn.get("retrieval")
    return {
        **turn,
        "query": str(turn.get("query") or ""),
        "retrieval": [_whole_round(each) for each in rounds if isinstance(each, dict)]
        if isinstance(rounds, list)
        else [],
        "answer": str(turn.get("answer") or ""),
        "time": int(turn.get("time") or 0),
    }


def _whole_round(found: dict[str, Any]) -> dict[str, Any]:
    results = found.get("result")
    return {
        "annotation": str(found.get("annotation") or ""),
        "search": [str(each) for each in found.get("search") or []],
        "result": [{**_RESULT, "content": "", **each} for each in results if isinstance(each, dict)]
        if isinstance(results, list)
        else [],
    }
