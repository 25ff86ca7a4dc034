"""Talks to a scripted server as a test wants it: no waits between attempts, an eye on the key."""

import traceback
from collections.abc import Iterable

import pytest
from codekernel.domain.chat import (
    ChatBackend,
    ChatEvent,
    ChatMessage,
    ChatRequest,
    ReasoningDelta,
    Role,
    TextDelta,
    TokensUsed,
    ToolSpec,
)
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import GenerationModel
from codekernel.errors import Cancelled, KernelError, NetworkError
from codekernel.llm.http_request import ChatTimeouts
from codekernel.llm.remote_backend import open_remote_backend
from llm.trying import KEY, assert_no_key

IMPATIENT = ChatTimeouts(
    first_token_timeout_seconds=60, idle_timeout_seconds=60, retry_backoff_seconds=(0, 0, 0)
)
SEARCH = ToolSpec("search", "Searches the code.", {"type": "object", "properties": {}})
QUESTION = ChatRequest((ChatMessage(Role.USER, "What is this?"),))
QUESTION_WITH_TOOLS = ChatRequest(QUESTION.messages, tools=(SEARCH,))
# By the tokenizer of these tests, and with what a template puts around a message.
QUESTION_TOKENS = 3 + 4


# Closed by a fixture of every test, as the server it talked to may be gone before.
OPENED: list[ChatBackend] = []


def count_words(text: str) -> int:
    return len(text.split())


def backend_at(url: str, *, patience: ChatTimeouts = IMPATIENT, api_key: str = KEY) -> ChatBackend:
    model = GenerationModel("mine", "some-model", url, needs_key=True)
    OPENED.append(open_remote_backend(model, api_key, count_words, patience))
    return OPENED[-1]


def ask(backend: ChatBackend, request: ChatRequest = QUESTION) -> list[ChatEvent]:
    return list(backend.stream(request, CancelToken()))


def expect_failure(
    backend: ChatBackend,
    request: ChatRequest = QUESTION,
    *,
    cancel: CancelToken | None = None,
    kind: type[KernelError] = NetworkError,
) -> tuple[list[ChatEvent], str]:
    """What came before the error, and its sentence; neither it nor its traceback has the key."""
    events: list[ChatEvent] = []
    with pytest.raises(kind) as raised:
        events.extend(backend.stream(request, cancel or CancelToken()))
    assert type(raised.value) is kind
    assert_no_key("".join(traceback.format_exception(raised.value)))
    assert "\n" not in str(raised.value)
    return events, str(raised.value)


def stopped_after(
    number: int, backend: ChatBackend, request: ChatRequest = QUESTION
) -> list[ChatEvent]:
    """Everything that comes of an answer that is stopped once so many events are there."""
    cancel = CancelToken()
    events: list[ChatEvent] = []

    def listen() -> None:
        for event in backend.stream(request, cancel):
            events.append(event)
            if len(events) == number:
                cancel.cancel()

    with pytest.raises(Cancelled):
        listen()
    return events


def text_of(events: Iterable[ChatEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def thought_of(events: Iterable[ChatEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ReasoningDelta))


def usage_of(events: list[ChatEvent]) -> TokensUsed:
    """The one count there must be, and last of all."""
    counts = [event for event in events if isinstance(event, TokensUsed)]
    assert len(counts) == 1
    assert events[-1] is counts[0]
    return counts[0]
