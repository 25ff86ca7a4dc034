"""Puts tool calls together that come in pieces, as every server cuts them differently."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernel.domain.chat import ToolCall

# More than any model asks for at once; an endless list must not fill memory.
MOST_CALLS = 128


@dataclass(slots=True)
class _Pieces:
    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class ToolCallPieces:
    """Deltas in, calls out, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_Pieces] = []

    def add(self, piece: Mapping[str, Any]) -> None:
        """Take one entry of a delta's ``tool_calls``."""
        call = self._call_of(piece)
        if call is None:
            return
        call.id = call.id or _text(piece.get("id"))
        function = piece.get("function")
        if not isinstance(function, Mapping):
            return
        name = _text(function.get("name"))
        if name != call.name:  # some servers repeat it with every piece
            call.name += name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.arguments += arguments
        elif arguments is not None:
            call.arguments = json.dumps(arguments, ensure_ascii=False)

    def calls(self) -> tuple[ToolCall, ...]:
        """Every call that has a name; one without an id gets one, for its answer to name."""
        return tuple(
            ToolCall(call.id or f"call_{number}", call.name, call.arguments or "{}")
            for number, call in enumerate(self._calls)
            if call.name
        )

    def text(self) -> str:
        """Everything that the model wrote for its calls."""
        return "\n".join(f"{call.name} {call.arguments}" for call in self._calls)

    def _call_of(self, piece: Mapping[str, Any]) -> _Pieces | None:
        index, said_id = piece.get("index"), _text(piece.get("id"))
        if not isinstance(index, int):
            if self._calls and not said_id and not _begins(piece):
                return self._calls[-1]
            index = _index_of(said_id, self._calls)
        for call in reversed(self._calls):
            # Some servers number every call 0 and tell them apart by their ids alone.
            if call.index == index and (not said_id or not call.id or said_id == call.id):
                return call
        if len(self._calls) >= MOST_CALLS:
            return None
        self._calls.append(_Pieces(index))
        return self._calls[-1]


def _begins(piece: Mapping[str, Any]) -> bool:
    """Whether a piece without index and id is the first of a call: only that one has a name."""
    function = piece.get("function")
    return isinstance(function, Mapping) and bool(_text(function.get("name")))


def _index_of(said_id: str, calls: list[_Pieces]) -> int:
    same = (call.index for call in calls if said_id and call.id == said_id)
    return next(same, len(calls))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
