"""A stop ends every kind of waiting, is heard by the server, and counts what was sent and got."""

import contextlib
import socket
import threading
from pathlib import Path

import pytest
import trustme
from codekernel.domain.chat import ChatMessage, ChatRequest, Role, TextDelta, TokensUsed
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled
from codekernel.llm.retry import ChatTimeouts
from llm.chatting import (
    QUESTION,
    QUESTION_TOKENS,
    backend_at,
    failing,
    stopped_after,
    text_of,
    usage_of,
)
from llm.loopback import HOST
from llm.test_secure_connection import server_side
from support.chat_server import (
    ChatServer,
    Delay,
    Hang,
    Raw,
    Received,
    Start,
    Step,
    Wait,
    delta,
    refused,
    said,
    usage,
)

PATIENT = ChatTimeouts(
    first_token_timeout_seconds=100, idle_timeout_seconds=100, retry_backoff_seconds=(100,)
)


def cancelling(server: ChatServer, request_number: int = 1) -> CancelToken:
    """A token that is cancelled once the server has the request."""
    cancel = CancelToken()

    def wait_and_cancel() -> None:
        server.wait_for_request(request_number)
        cancel.cancel()

    threading.Thread(target=wait_and_cancel).start()
    return cancel


@pytest.mark.parametrize("before", [[], [Start()], [Raw(b": comment\n\n")]])
def test_a_stop_before_the_first_word_counts_what_was_sent(before: list[Step]) -> None:
    with ChatServer([[*before, Hang()]]) as server:
        backend = backend_at(server.url, patience=PATIENT)
        events, sentence = failing(backend, cancel=cancelling(server), kind=Cancelled)
        assert server.received[0].hung_up.wait(10)
    assert events == [TokensUsed(QUESTION_TOKENS, 0, exact=False)]
    assert f"{HOST}:{server.port} was stopped" in sentence


def test_a_stop_in_the_middle_keeps_and_counts_what_was_received() -> None:
    with ChatServer([[delta("two "), delta("words"), Hang()]]) as server:
        received = stopped_after(2, backend_at(server.url, patience=PATIENT))
        assert server.received[0].hung_up.wait(10)
    assert text_of(received) == "two words"
    assert usage_of(received) == TokensUsed(QUESTION_TOKENS, 2, exact=False)


def test_a_stop_between_pieces_that_keep_coming_is_heard() -> None:
    endless = [step for _ in range(10_000) for step in (Delay(0.001), delta("x "))]
    with ChatServer([endless]) as server:
        received = stopped_after(5, backend_at(server.url, patience=PATIENT))
    assert received[:-1] == [TextDelta("x ")] * 5
    assert usage_of(received).output_tokens == 5


def test_a_count_the_provider_gave_before_the_stop_is_kept() -> None:
    with ChatServer([[usage(7, 3), delta("x"), Hang()]]) as server:
        received = stopped_after(1, backend_at(server.url, patience=PATIENT))
    assert usage_of(received) == TokensUsed(7, 3, exact=True)


def test_a_stop_beforehand_sends_nothing() -> None:
    cancel = CancelToken()
    cancel.cancel()
    with ChatServer([said("x")]) as server:
        events, _ = failing(backend_at(server.url), cancel=cancel, kind=Cancelled)
        assert server.received == []
    assert events == []


def test_a_stop_ends_the_wait_between_two_attempts() -> None:
    with ChatServer([refused(503)]) as server:
        backend = backend_at(server.url, patience=PATIENT)
        failing(backend, cancel=cancelling(server), kind=Cancelled)
        assert len(server.received) == 1


def test_a_stop_ends_a_connection_that_does_not_come_about() -> None:
    """A listener that accepts nothing: its queue is full, so connecting takes for ever."""
    with socket.create_server((HOST, 0), backlog=0) as listener, contextlib.ExitStack() as stack:
        port = listener.getsockname()[1]
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.settimeout(0)
            waiting.connect_ex((HOST, port))
        cancel = CancelToken()
        timer = threading.Timer(0.1, cancel.cancel)
        timer.start()
        url = f"http://{HOST}:{port}/v1"
        events, _ = failing(backend_at(url, patience=PATIENT), cancel=cancel, kind=Cancelled)
        timer.join()
    assert events == []


def test_a_stop_ends_a_secure_connection_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with ChatServer([[delta("x"), Hang()]], tls=server_side(authority.issue_cert(HOST))) as server:
        backend = backend_at(server.url, patience=PATIENT)
        events, _ = failing(backend, cancel=cancelling(server), kind=Cancelled)
        assert server.received[0].hung_up.wait(10)
    assert usage_of(events).input_tokens == QUESTION_TOKENS


def test_stopping_one_answer_leaves_the_others_alone() -> None:
    others_begun = threading.Barrier(3)
    stopped = threading.Event()

    def script(received: Received) -> list[Step]:
        if received.json["messages"][0]["content"] == "Stop me":
            return [delta("x"), Hang()]
        return [delta("wh"), Wait(stopped), *said("ole")]

    answers: list[str] = []
    with ChatServer([script]) as server:
        backend = backend_at(server.url, patience=PATIENT)

        def other() -> None:
            events = backend.stream(QUESTION, CancelToken())
            first = next(events)
            others_begun.wait(10)
            answers.append(text_of([first, *events]))

        threads = [threading.Thread(target=other) for _ in range(2)]
        for thread in threads:
            thread.start()
        cancel = CancelToken()
        mine = backend.stream(ChatRequest((ChatMessage(Role.USER, "Stop me"),)), cancel)
        next(mine)
        others_begun.wait(10)
        cancel.cancel()
        with pytest.raises(Cancelled):
            list(mine)
        stopped.set()
        for thread in threads:
            thread.join()
    assert answers == ["whole", "whole"]
