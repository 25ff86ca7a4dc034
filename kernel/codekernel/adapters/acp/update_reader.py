"""Translate what an ACP agent tells of its turn into steps of an agent: pure, one turn each.

Chunks are words, a tool call is a use of a tool once its input is known, and its last update the
result, with a diff of what it changed.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from acp import schema

from codekernel.agent.tools.call_format import truncate_middle
from codekernel.agent.workspace.text_file import compute_diff
from codekernel.domain.agent_sessions import PermissionOption, PlanEntry
from codekernel.domain.turn_events import (
    AgentStep,
    AgentTextDelta,
    AgentThinkingDelta,
    AgentToolDone,
    AgentToolUsed,
    RoundStarted,
)
from codekernel.sync.agents import BackendPermission, PlanUpdated

# What our own agent says a tool does, by the kind of an ACP tool.
_DANGERS = {
    "read": "reads",
    "search": "reads",
    "think": "reads",
    "edit": "writes",
    "move": "writes",
    "delete": "deletes",
    "execute": "runs",
}

_UNNAMED_KIND = "other"

# A call is announced before its input is complete: OpenCode tells the folder of a command first.
_ANNOUNCED = "pending"

# It is shown once it runs, is asked for, or nothing new has been told of it for so long.
PENDING_SECONDS = 2.0

# A tool call that has not been told about to the end is closed with this.
_UNFINISHED_RESULT = "The turn ended before this was finished."

AcpStep = AgentStep | RoundStarted | PlanUpdated

ToolCallNews = schema.ToolCall | schema.ToolCallUpdate


@dataclass(slots=True)
class _KnownCall:
    """What has been told about a tool call so far."""

    id: str
    title: str = ""
    kind: str = _UNNAMED_KIND
    status: str = _ANNOUNCED
    input: dict[str, Any] = field(default_factory=dict)
    output: Any = None
    content: Sequence[Any] = ()
    paths: tuple[str, ...] = ()
    is_shown: bool = False
    noted_at: float = 0.0

    def take(self, news: ToolCallNews) -> None:
        self.title = news.title or self.title
        self.kind = news.kind or self.kind
        self.status = news.status or self.status
        if news.raw_input:
            given = news.raw_input
            self.input = dict(given) if isinstance(given, dict) else {"input": given}
        if news.raw_output is not None:
            self.output = news.raw_output
        if news.content is not None:
            self.content = news.content
        if news.locations:
            self.paths = tuple(place.path for place in news.locations)

    @property
    def name(self) -> str:
        return self.title if self.kind == _UNNAMED_KIND and self.title else self.kind

    @property
    def arguments(self) -> dict[str, Any]:
        """What it was called with, and what it is called, for a person."""
        shown = dict(self.input) or ({"path": self.paths[0]} if self.paths else {})
        if self.title and self.title != self.name:
            shown.setdefault("title", self.title)
        return shown

    def build_diff(self) -> str:
        return "".join(
            compute_diff(each.path.lstrip("/"), each.old_text or "", each.new_text).text
            for each in self.content
            if isinstance(each, schema.FileEditToolCallContent)
        )

    def build_text(self) -> str:
        texts = [_read_text(each.content) for each in self.content if hasattr(each, "content")]
        if said := "\n".join(filter(None, texts)):
            return said
        if isinstance(self.output, str):
            return self.output
        if isinstance(self.output, dict) and isinstance(self.output.get("output"), str):
            return str(self.output["output"])
        return "" if self.output is None else json.dumps(self.output, ensure_ascii=False)


class TurnReader:
    """Reads the updates of one turn."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._calls: dict[str, _KnownCall] = {}
        self._message_id: str | None = None
        self._round = 1

    def read(self, update: object) -> Iterator[AcpStep]:
        """Yield the steps of one update; none for what no device shows."""
        match update:
            case schema.AgentMessageChunk() | schema.AgentThoughtChunk():
                yield from self._read_chunk(update)
            case schema.ToolCallStart() | schema.ToolCallProgress():
                yield from self._read_call(update)
            case schema.AgentPlanUpdate(entries=entries):
                yield PlanUpdated(
                    tuple(PlanEntry(each.content, str(each.status)) for each in entries)
                )

    def read_permission(
        self,
        permission_id: str,
        session: str,
        call: schema.ToolCallUpdate,
        options: Sequence[schema.PermissionOption],
    ) -> tuple[list[AcpStep], BackendPermission]:
        """Return the tool use that is waited for, if it was not shown yet, and the permission."""
        known = self._note_call(call)
        steps: list[AcpStep] = [*self._show_call(known)]
        arguments = known.arguments
        if diff := known.build_diff():
            arguments["diff"] = truncate_middle(diff)
        offered = tuple(PermissionOption(it.option_id, it.name, str(it.kind)) for it in options)
        danger = _DANGERS.get(known.kind, "")
        return steps, BackendPermission(
            permission_id, session, known.name, arguments, danger, offered, known.id
        )

    def read_waiting(self) -> Iterator[AcpStep]:
        """Yield the calls that were announced a while ago; some agents do not say that one runs."""
        latest = self._clock() - PENDING_SECONDS
        for known in list(self._calls.values()):
            if known.input and known.noted_at < latest:
                yield from self._show_call(known)

    def finish(self) -> Iterator[AcpStep]:
        """Close what is open: the turn is over."""
        for known in list(self._calls.values()):
            yield from self._show_call(known)
            yield AgentToolDone(known.id, _UNFINISHED_RESULT, success=False)
        self._calls.clear()

    def _read_chunk(
        self, chunk: schema.AgentMessageChunk | schema.AgentThoughtChunk
    ) -> Iterator[AcpStep]:
        if chunk.message_id and chunk.message_id != self._message_id:
            is_first, self._message_id = self._message_id is None, chunk.message_id
            if not is_first:
                self._round += 1
                yield RoundStarted(self._round)
        text = _read_text(chunk.content)
        is_thought = isinstance(chunk, schema.AgentThoughtChunk)
        yield AgentThinkingDelta(text) if is_thought else AgentTextDelta(text)

    def _read_call(self, news: ToolCallNews) -> Iterator[AcpStep]:
        known = self._note_call(news)
        if known.status != _ANNOUNCED:
            yield from self._show_call(known)
        if known.status in {"completed", "failed"}:
            del self._calls[known.id]
            yield AgentToolDone(
                known.id,
                truncate_middle(known.build_text()),
                success=known.status == "completed",
                diff=truncate_middle(known.build_diff()),
            )

    def _note_call(self, news: ToolCallNews) -> _KnownCall:
        known = self._calls.setdefault(news.tool_call_id, _KnownCall(news.tool_call_id))
        known.take(news)
        known.noted_at = self._clock()
        return known

    def _show_call(self, known: _KnownCall) -> Iterator[AcpStep]:
        if not known.is_shown:
            known.is_shown = True
            yield AgentToolUsed(known.id, known.name, known.arguments)


def _read_text(block: object) -> str:
    """Return the text of a content block; of others, what stands for them."""
    match block:
        case schema.TextContentBlock(text=text):
            return text
        case schema.ResourceContentBlock(uri=uri, name=name):
            return f"[{name}]({uri})"
        case schema.EmbeddedResourceContentBlock(resource=resource):
            return str(getattr(resource, "text", f"[{resource.uri}]"))
        case schema.ImageContentBlock() | schema.AudioContentBlock():
            return f"[{block.type}]"
    return ""
