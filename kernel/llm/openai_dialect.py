"""OpenAI's chat API: an event stream, or one JSON document from servers that do not stream."""

import json
from collections.abc import Iterator
from typing import Any

from kernel.domain.chat import ChatEvent, ChatRequest
from kernel.domain.safe_json import parse_json
from kernel.llm.answer_assembly import AnswerAssembly
from kernel.llm.dialect import AnswerReader, Garbled, Reported
from kernel.llm.messages import openai_payload
from kernel.llm.sse import EventStream, EventTooLong
from kernel.llm.traits import Traits

DONE = "[DONE]"
_LONGEST_DOCUMENT_BYTES = 8 * 1024 * 1024
_QUOTABLE_BYTES = 1000
_ERROR_STATUSES = range(400, 600)


class OpenAiDialect:
    """Spoken by OpenAI, DeepSeek, vLLM, LM Studio, the server of llama.cpp and many more."""

    def payload(self, model_name: str, request: ChatRequest, traits: Traits) -> dict[str, Any]:
        """Build the body of the request."""
        return openai_payload(model_name, request, traits)

    def reader(self) -> AnswerReader:
        """Make a reader for one answer."""
        return OpenAiReader()


class OpenAiReader:
    """Goes by what the body looks like: servers are careless with its declared type."""

    def __init__(self) -> None:
        self.assembly = AnswerAssembly()
        self._events = EventStream()
        self._document: bytearray | None = None
        self._beginning: bytes | None = b""
        self._quotable = b""
        self._said_done = False
        self._has_chunks = False

    @property
    def complete(self) -> bool:
        """Whether the server has said that this was all."""
        return self._said_done

    def feed(self, piece: bytes) -> Iterator[ChatEvent]:
        """Yield what ``piece`` adds to the answer."""
        if self._beginning is not None:
            piece = self._beginning + piece
            if not piece.strip():
                self._beginning = piece
                return
            self._beginning = None
            self._quotable = piece[:_QUOTABLE_BYTES]
            if piece.lstrip()[:1] in {b"{", b"[", b"<"}:
                self._document = bytearray()
        if self._document is not None:
            self._document += piece
            if len(self._document) > _LONGEST_DOCUMENT_BYTES:
                raise Garbled("")
            return
        try:
            for data in self._events.feed(piece):
                yield from self._take(data)
        except EventTooLong:
            raise Garbled("") from None

    def body_ended(self) -> Iterator[ChatEvent]:
        """Yield what the end of the body adds; ``complete`` is right after it."""
        if self._document is not None:
            yield from self._take_whole(self._document.decode("utf-8", errors="replace"))
            return
        rest = self._events.rest()
        if rest is not None and (rest.strip() == DONE or _json(rest) is not None):
            yield from self._take(rest)
        if not self._has_chunks:
            raise Garbled(self._quotable.decode("utf-8", errors="replace"))
        # Not every server says [DONE], but none leaves out the reason of an answer that ended well.
        self._said_done = self._said_done or self.assembly.finish_reason is not None

    def _take(self, data: str) -> Iterator[ChatEvent]:
        if data.strip() == DONE:
            if not self._has_chunks:
                raise Garbled(data)
            self._said_done = True
            return
        if not data.strip() or self._said_done:
            return
        chunk = _json(data)
        if not isinstance(chunk, dict):
            raise Garbled(data)
        raise_reported(chunk)
        self._has_chunks = True
        yield from self._take_chunk(chunk, "delta")

    def _take_whole(self, text: str) -> Iterator[ChatEvent]:
        answer = _json(text)
        if not isinstance(answer, dict):
            raise Garbled(text)
        raise_reported(answer)
        if "choices" not in answer:
            raise Garbled(text)
        yield from self._take_chunk(answer, "message")
        self._said_done = True

    def _take_chunk(self, chunk: dict[str, Any], part: str) -> Iterator[ChatEvent]:
        self._take_usage(chunk)
        choice = _first(chunk.get("choices"))
        said = choice.get(part)
        if isinstance(said, dict):
            for name in ("reasoning_content", "reasoning"):
                if isinstance(said.get(name), str):
                    yield from self.assembly.think(said[name])
                    break  # some servers send the same thought under both names
            yield from self._take_content(said.get("content"))
            self.assembly.call(said.get("tool_calls"))
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.assembly.finish_reason = reason

    def _take_content(self, content: object) -> Iterator[ChatEvent]:
        if isinstance(content, str):
            yield from self.assembly.say(content)
            return
        # Mistral's way: a list of parts, thoughts among them.
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield from self.assembly.say(part["text"])
            elif isinstance(part, dict) and isinstance(part.get("thinking"), list):
                for thought in part["thinking"]:
                    if isinstance(thought, dict) and isinstance(thought.get("text"), str):
                        yield from self.assembly.think(thought["text"])

    def _take_usage(self, chunk: dict[str, Any]) -> None:
        groq = chunk.get("x_groq")
        usage = chunk.get("usage") or (groq.get("usage") if isinstance(groq, dict) else None)
        if isinstance(usage, dict):
            self.assembly.count(usage.get("prompt_tokens"), usage.get("completion_tokens"))


def raise_reported(answer: dict[str, Any]) -> None:
    """Raise Reported if ``answer`` is an error, in any of the usual forms."""
    error = answer.get("error") or (answer if answer.get("object") == "error" else None)
    if not error:
        return
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and code in _ERROR_STATUSES else None
    raise Reported(json.dumps(answer, ensure_ascii=False), status)


def _first(choices: object) -> dict[str, Any]:
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return {}


def _json(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return None
