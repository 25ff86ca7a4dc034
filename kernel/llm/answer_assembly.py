"""What one answer has come to so far, whichever way its server cuts it into pieces."""

from collections.abc import Iterator
from typing import Any

from kernel.domain.chat import ChatEvent, Finished, ReasoningDelta, ToolCalls
from kernel.llm.thinking import ThinkingSplitter
from kernel.llm.tool_call_pieces import ToolCallPieces


class AnswerAssembly:
    """Takes text, thoughts and pieces of tool calls; keeps them for counting."""

    def __init__(self) -> None:
        self.finish_reason: str | None = None
        self.provider_count: tuple[int, int] | None = None
        self._splitter = ThinkingSplitter()
        self._calls = ToolCallPieces()
        self._received: list[str] = []

    def say(self, text: str) -> Iterator[ChatEvent]:
        """Take the next words, among which may be a thought between tags."""
        if text:
            self._received.append(text)
            yield from self._splitter.feed(text)

    def think(self, text: str) -> Iterator[ChatEvent]:
        """Take the next words of a thought that the server keeps apart itself."""
        if text:
            self._received.append(text)
            yield ReasoningDelta(text)

    def call(self, pieces: object) -> None:
        """Take a list of tool calls or of pieces of them; anything else is no list of calls."""
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                self._calls.add(piece)

    def count(self, sent: Any, received: Any) -> None:
        """Take the provider's own count, if it is one."""
        if _is_count(sent) and _is_count(received):
            self.provider_count = (sent, received)

    def end(self) -> Iterator[ChatEvent]:
        """Yield what only the end of the answer makes certain."""
        yield from self._splitter.end()
        calls = self._calls.calls()
        if calls:
            yield ToolCalls(calls)
        yield Finished(self.finish_reason or ("tool_calls" if calls else "stop"))

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been received at all."""
        return not self._received and not self._calls.text()

    def received_text(self) -> str:
        """Everything the model wrote, thoughts and calls included."""
        return "".join((*self._received, self._calls.text()))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
