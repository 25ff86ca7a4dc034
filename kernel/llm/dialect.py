"""What differs between one family of chat endpoints and another."""

from collections.abc import Iterator
from typing import Any, Protocol

from kernel.domain.chat import ChatEvent, ChatRequest
from kernel.llm.answer_assembly import AnswerAssembly
from kernel.llm.traits import Traits


class Garbled(Exception):
    """A body that is no chat answer; carries the text to quote."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Reported(Exception):
    """An error that the server put where its answer should be; carries it as JSON text."""

    def __init__(self, text: str, status: int | None) -> None:
        super().__init__()
        self.text = text
        self.status = status


class AnswerReader(Protocol):
    """Reads the body of one answer; raises Garbled or Reported."""

    assembly: AnswerAssembly

    @property
    def complete(self) -> bool:
        """Whether the server has said that this was all."""

    def feed(self, piece: bytes) -> Iterator[ChatEvent]:
        """Yield what ``piece`` adds to the answer."""

    def body_ended(self) -> Iterator[ChatEvent]:
        """Yield what the end of the body adds; ``complete`` is right after it."""


class Dialect(Protocol):
    """How to ask, and how to read what is said."""

    def payload(self, model_name: str, request: ChatRequest, traits: Traits) -> dict[str, Any]:
        """Build the body of the request."""

    def reader(self) -> AnswerReader:
        """Make a reader for one answer."""
