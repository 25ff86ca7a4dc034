"""One request of an agent to its model, and the reply, told while it comes."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from kernel.agent.events import AgentEvent, TextPart, ThinkingPart
from kernel.agent.spoken_blocks import Kind, Piece, SpokenBlocks
from kernel.domain.cancel import CancelToken
from kernel.domain.chat import (
    ChatBackend,
    ChatRequest,
    Finished,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCalls,
)
from kernel.errors import Cancelled

_WRITTEN_CALLS = ("<tool_call>", "```tool")
_PARAGRAPH = "\n\n"


@dataclass(slots=True)
class Reply:
    """What the model wrote, complete once the events are over."""

    words: list[str] = field(default_factory=list)
    calls: tuple[ToolCall, ...] = ()
    finish: str = ""

    @property
    def text(self) -> str:
        """Everything it said, its thoughts left out."""
        return "".join(self.words)


def exchanged(
    backend: ChatBackend, request: ChatRequest, cancel: CancelToken
) -> Generator[AgentEvent, None, Reply]:
    """Ask a model that calls tools; raises what the backend raises.

    Some such models write their calls into the text now and then; these count as well.
    """
    reply = Reply()
    for event in backend.stream(request, cancel):
        match event:
            case TextDelta(text):
                reply.words.append(text)
                yield TextPart(text)
            case ReasoningDelta(text):
                yield ThinkingPart(text)
            case ToolCalls(calls):
                reply.calls = calls
            case Finished(reason):
                reply.finish = reason
    if not reply.calls and any(sign in reply.text for sign in _WRITTEN_CALLS):
        reply.calls = tuple(_written(reply.text, [spec.name for spec in request.tools]))
    return reply


def exchanged_as_text(
    backend: ChatBackend, request: ChatRequest, cancel: CancelToken, known: list[str]
) -> Generator[AgentEvent, None, Reply]:
    """Ask a model that can only write; ends as soon as it invents a result."""
    reading = _Reading(SpokenBlocks(known, until_result=True))
    enough = cancel.child()
    try:
        for event in backend.stream(request, enough):
            match event:
                case TextDelta(text):
                    yield from reading.told(reading.blocks.feed(text))
                case ReasoningDelta(text):
                    yield ThinkingPart(text)
                case Finished(reason):
                    reading.reply.finish = reason
            if reading.blocks.is_over:
                enough.cancel()
    except Cancelled:
        if cancel.cancelled or not reading.blocks.is_over:
            raise
    yield from reading.told(reading.blocks.end())
    return reading.reply


@dataclass(slots=True)
class _Reading:
    blocks: SpokenBlocks
    reply: Reply = field(default_factory=Reply)
    _said: int = 0
    _thought: int = 0

    def told(self, pieces: list[Piece]) -> Iterator[AgentEvent]:
        for piece in pieces:
            if piece.kind is Kind.CALL:
                self.reply.calls += (ToolCall("", piece.name, piece.text),)
            elif piece.kind is Kind.THINKING:
                apart = self._thought and piece.number != self._thought
                self._thought = piece.number
                yield ThinkingPart(f"{_PARAGRAPH if apart else ''}{piece.text}")
            elif piece.kind is Kind.TEXT:
                apart = self._said and piece.number != self._said
                self._said = piece.number
                text = f"{_PARAGRAPH if apart else ''}{piece.text}"
                self.reply.words.append(text)
                yield TextPart(text)


def _written(text: str, names: list[str]) -> Iterator[ToolCall]:
    """The calls of known tools in a text."""
    blocks = SpokenBlocks(names)
    for piece in (*blocks.feed(text), *blocks.end()):
        if piece.kind is Kind.CALL and piece.name in names:
            yield ToolCall("", piece.name, piece.text)
