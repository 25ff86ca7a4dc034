"""A conversation on disk.

The lines of a turn's journal, and conversation-<id>.json with the document's keys and our
additions, also of earlier versions and of other programs.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from codekernel.domain import turn_events as events
from codekernel.domain.turn import Excerpt, PastTurn, Turn, TurnOutcome, UndoResult
from codekernel.domain.turn_events import TurnEvent
from codekernel.protocol.envelope import convert_values, dump_json, load_json
from codekernel.protocol.messages import agent_turns
from codekernel.protocol.messages import conversation as messages
from codekernel.protocol.messages.conversation import HistoryFile, RoundEntry, TurnEntry
from codekernel.protocol.turn_parts import build_message_entry, build_result_content

_EVENT_TYPES: dict[str, type[TurnEvent]] = {
    "begun": events.TurnBegun,
    "annotation": events.RetrievalAnnotated,
    "search": events.SearchIssued,
    "result": events.ExcerptRetrieved,
    "doneRetrieval": events.RetrievalDone,
    "answer": events.AnswerDelta,
    "failed": events.TurnFailed,
    "done": events.TurnDone,
    "sent": events.ModelRequestSent,
    "received": events.ModelTextReceived,
    "counted": events.TokensCounted,
    "said": events.AgentTextDelta,
    "thought": events.AgentThinkingDelta,
    "toolUse": events.AgentToolUsed,
    "toolResult": events.AgentToolDone,
    "reminded": events.TurnReminded,
    "changed": events.FileChanged,
}

_EVENT_NAMES = {kind: name for name, kind in _EVENT_TYPES.items()}


def encode_journal_line(event: TurnEvent) -> bytes:
    """Return the event with a newline at its end, by which a truncated line is recognised."""
    return dump_json([_EVENT_NAMES[type(event)], event]) + b"\n"


def decode_journal_lines(content: bytes) -> tuple[list[TurnEvent], bool]:
    """Return the events that can be read, and whether nothing is damaged.

    A last line truncated by a crash is no damage: its event was never shown.
    """
    found: list[TurnEvent] = []
    is_whole = True
    for line in content.split(b"\n")[:-1]:
        try:
            name, payload = load_json(line)
            found.append(msgspec.convert(payload, _EVENT_TYPES[name]))
        except (ValueError, TypeError, KeyError):
            is_whole = False
    return found, is_whole


class UnreadableHistoryError(ValueError):
    """The file is no valid history; the message says why."""


_HISTORY_DECODER = msgspec.json.Decoder(HistoryFile)


def decode_history_file(content: bytes) -> HistoryFile:
    """Decode the documented fields, ten times as fast as ConversationHistory.from_bytes.

    Raises UnreadableHistoryError.
    """
    try:
        return _HISTORY_DECODER.decode(content)
    except (ValueError, RecursionError):  # broken, or with half a surrogate pair in it
        try:
            return msgspec.convert(load_json(content), HistoryFile)
        except (ValueError, RecursionError) as error:
            raise UnreadableHistoryError(str(error)) from error


class ConversationHistory:
    """The content of one file; unknown keys in it are kept."""

    def __init__(self, document: dict[str, Any]) -> None:
        """Take a valid document; raises ValueError otherwise."""
        self._document = document
        self.entries = msgspec.convert(document, HistoryFile)

    @classmethod
    def create(cls, conversation_id: int, topic: str, repo_path: str) -> "ConversationHistory":
        """Return an empty conversation."""
        return cls(msgspec.to_builtins(HistoryFile(conversation_id, topic, [], repo_path)))

    @classmethod
    def from_bytes(cls, content: bytes, conversation_id: int) -> "ConversationHistory":
        """Parse a file, which gets this id. Raises UnreadableHistoryError."""
        try:
            history = cls(load_json(content))
        except (ValueError, RecursionError) as error:
            raise UnreadableHistoryError(str(error)) from error
        history._document["conversationId"] = conversation_id
        history.entries = msgspec.structs.replace(history.entries, conversation_id=conversation_id)
        return history

    @property
    def repo_path(self) -> str:
        """The repository; empty if an older kernel wrote the file."""
        return self.entries.repo_path

    def list_turns(self) -> list[PastTurn]:
        """Return the turns, oldest first."""
        return [_build_past_turn(entry) for entry in self.entries.history]

    def has_turn(self, turn: Turn) -> bool:
        """Whether this turn is in the file already, and not only a truncated part of it."""
        same = [entry for entry in self.entries.history if _is_same_turn(entry, turn)]
        cut_off = TurnOutcome.INTERRUPTED
        return any(entry.outcome != cut_off or turn.outcome is cut_off for entry in same)

    def with_turn(self, turn: Turn) -> "ConversationHistory":
        """Return a copy with one more turn, which replaces its earlier version.

        That is one that was truncated, or that the same request began in a kernel that died.
        """
        known = zip(self.raw_turns, self.entries.history, strict=True)
        kept = [
            raw
            for raw, entry in known
            if not _is_same_turn(entry, turn) and not _is_same_request(entry, turn)
        ]
        return self._with_turns([*kept, msgspec.to_builtins(_build_turn_entry(turn))])

    def with_summary(self, number: int, summary: str) -> "ConversationHistory":
        """Return a copy with the summary of turn ``number``."""
        turns = list(self.raw_turns)
        turns[number] = turns[number] | {"summary": summary}
        return self._with_turns(turns)

    def fork(self, conversation_id: int, turn_count: int) -> "ConversationHistory":
        """Return another conversation with the first turns of this one.

        What an agent did stays with the original, which alone can undo it: its answer comes along.
        """
        turns = [turn | {"agent": None} for turn in self.raw_turns[:turn_count]]
        return ConversationHistory(
            self._document | {"conversationId": conversation_id, "history": turns}
        )

    def with_undo_results(self, time: int, files: Sequence[UndoResult]) -> "ConversationHistory":
        """Return a copy with the undo results of the agent's turn of this time."""
        undone = {
            "undone": msgspec.to_builtins(convert_values(files, list[agent_turns.UndoneEntry]))
        }
        turns = [
            turn | {"agent": turn["agent"] | undone}
            if turn["time"] == time and turn.get("agent")
            else turn
            for turn in self.raw_turns
        ]
        return self._with_turns(turns)

    def _with_turns(self, turns: list[dict[str, Any]]) -> "ConversationHistory":
        return ConversationHistory(self._document | {"history": turns})

    @property
    def raw_turns(self) -> list[dict[str, Any]]:
        """The turns as they stand in the file, with unknown keys."""
        turns: list[dict[str, Any]] = self._document["history"]
        return turns

    def with_repo_path(self, repo_path: str) -> "ConversationHistory":
        """Return a copy for another folder."""
        return ConversationHistory(self._document | {"repoPath": repo_path})

    def merge(self, other: "ConversationHistory") -> "ConversationHistory":
        """Return a copy with the turns that only ``other`` has, in the order of their times."""
        known = {(entry.time, entry.query) for entry in self.entries.history}
        missing = [turn for turn in other.raw_turns if (turn["time"], turn["query"]) not in known]
        turns = sorted([*self.raw_turns, *missing], key=lambda turn: int(turn["time"]))
        return self._with_turns(turns) if missing else self

    def to_bytes(self) -> bytes:
        """Return the content of the file."""
        return dump_json(self._document, indented=True)


def _is_same_turn(entry: TurnEntry, turn: Turn) -> bool:
    return (entry.time, entry.query) == (turn.request.time_ms, turn.request.query)


def _is_same_request(entry: TurnEntry, turn: Turn) -> bool:
    request = turn.request
    return bool(request.turn_key) and (entry.turn_key, entry.query) == (
        request.turn_key,
        request.query,
    )


def _build_past_turn(entry: TurnEntry) -> PastTurn:
    found = [each for one in entry.retrieval for each in one.result]
    results = convert_values(found, tuple[Excerpt, ...])
    session = entry.agent.session if entry.agent else ""
    return PastTurn(entry.query, entry.answer, results, entry.summary, session, entry.turn_key)


def _build_turn_entry(turn: Turn) -> TurnEntry:
    request, place = turn.request, turn.request.agent
    return TurnEntry(
        query=request.query,
        retrieval=[
            RoundEntry(
                one.annotation,
                list(one.searches),
                list(map(build_result_content, one.results)),
            )
            for one in turn.retrieval
        ],
        answer=turn.answer,
        time=request.time_ms,
        model_name=request.model_name,
        outcome=turn.outcome.value,
        error=turn.error,
        citations=convert_values(turn.citations, list[messages.CitationEntry]),
        masked=turn.masked,
        usage=convert_values(turn.token_usage, messages.SpentEntry),
        agent=None
        if place is None
        else agent_turns.AgentEntry(
            session=place.session,
            first_change=place.first_change,
            messages=list(map(build_message_entry, turn.messages)),
            changes=convert_values(turn.changes, list[agent_turns.ChangeEntry]),
        ),
        turn_key=request.turn_key,
    )


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
