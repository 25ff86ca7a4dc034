"""One fault at a time: each has its sentence, and its count if the model was at work."""

import json
import socket

import pytest
from codekernel.domain.chat import TextDelta, TokensUsed
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import NetworkError
from codekernel.llm.retry import ChatTimeouts
from llm.chatting import (
    IMPATIENT,
    QUESTION,
    QUESTION_TOKENS,
    ask,
    backend_at,
    failing,
    text_of,
    usage_of,
)
from llm.loopback import HOST, raw_server
from llm.trying import KEY
from support.chat_server import (
    ChatServer,
    Close,
    Data,
    Hang,
    Raw,
    Reset,
    Start,
    Step,
    Whole,
    Wire,
    delta,
    ended,
    refused,
    said,
)

HALF_AN_ANSWER = (TextDelta("Hello"), TokensUsed(QUESTION_TOKENS, 1, exact=False))


def test_a_refused_connection() -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    events, sentence = failing(backend_at(f"http://{HOST}:{port}/v1"))
    assert events == []
    assert f"{HOST}:{port} refused the connection" in sentence


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Reset(), "broke off in the middle of its answer"),
        (Close(), "broke off in the middle of its answer"),
        (Wire(b"zzz\r\n"), "broke off in the middle of its answer"),
        (Raw(b'data: {"choices": [{"del'), "broke off in the middle of its answer"),
        (Data('{"choices": [{"del'), "not with a chat completion"),
        (Data("garbage"), "not with a chat completion"),
        (Data([1, 2]), "not with a chat completion"),
        (Data({"error": {"message": "the GPU is on fire"}}), "the GPU is on fire"),
        (Data({"error": "no more"}), "no more"),
        (Data({"object": "error", "message": "overloaded"}), "overloaded"),
        (Data({"error": {"code": 502, "message": "upstream"}}), "(502)"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_an_answer_that_breaks_off_is_kept_and_counted(fault: Step, words: str) -> None:
    with ChatServer([[delta("Hello"), fault]]) as server:
        events, sentence = failing(backend_at(server.url))
        assert len(server.received) == 1
    assert tuple(events) == HALF_AN_ANSWER
    assert words in sentence
    assert f"{HOST}:{server.port}" in sentence


def test_an_answer_that_falls_silent_is_given_up_and_its_connection_cut() -> None:
    patience = ChatTimeouts(first_token_timeout_seconds=10, idle_timeout_seconds=0.1)
    with ChatServer([[delta("Hello"), Hang()]]) as server:
        events, sentence = failing(backend_at(server.url, patience=patience))
        assert server.received[0].hung_up.wait(10)
    assert tuple(events) == HALF_AN_ANSWER
    assert "said nothing more" in sentence


@pytest.mark.parametrize("before", [[], [Start()]])
def test_a_server_that_never_begins_is_given_up_and_counted_as_asked(before: list[Step]) -> None:
    patience = ChatTimeouts(first_token_timeout_seconds=1, idle_timeout_seconds=10)
    with ChatServer([said("x"), [*before, Hang()]]) as server:
        backend = backend_at(server.url, patience=patience)
        ask(backend)  # so that the second on the clock is not spent on loading libraries
        events, sentence = failing(backend)
        assert server.received[1].hung_up.wait(10)
    assert events == [TokensUsed(QUESTION_TOKENS, 0, exact=False)]
    assert "did not answer in time" in sentence


@pytest.mark.parametrize(
    "answer",
    [
        [Whole(200, "<html><title>Welcome</title></html>", {"Content-Type": "text/html"})],
        [Whole(200, json.dumps({"status": "ok"}))],
        [Whole(200, '{"choices": [')],
        [Whole(200, "pong", {"Content-Type": "text/plain"})],
        [Whole(200, "")],
        [Raw(b"\x00\xff\xfe" * 100)],
        [Data("garbage")],
        [Start()],
        [Data("[DONE]")],
    ],
    ids=["page", "json", "cut json", "text", "empty", "bytes", "no json", "no event", "only done"],
)
def test_what_is_no_chat_at_all_costs_nothing(answer: list[Step]) -> None:
    with ChatServer([answer]) as server:
        events, sentence = failing(backend_at(server.url))
    assert events == []
    assert "not with a chat completion" in sentence


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_trouble_before_the_first_event_is_tried_again(status: int) -> None:
    with ChatServer([refused(status), refused(status), said("Hello", used=(1, 1))]) as server:
        events = ask(backend_at(server.url))
        assert len(server.received) == 3
    assert text_of(events) == "Hello"
    assert usage_of(events) == TokensUsed(1, 1, exact=True)


def test_trouble_after_the_first_event_is_not_tried_again() -> None:
    with ChatServer([[delta("Hello"), Reset()], said("again")]) as server:
        failing(backend_at(server.url))
        assert len(server.received) == 1


def test_a_server_is_left_alone_for_as_long_as_it_asks() -> None:
    busy = refused(429, "slow down", headers={"Retry-After": "3600"})
    with ChatServer([busy]) as server:
        events, sentence = failing(backend_at(server.url))
        assert len(server.received) == 1
    assert events == []
    assert "it asks to wait 3600 seconds" in sentence


def test_a_connection_dropped_before_any_answer_is_tried_again() -> None:
    with ChatServer([[Reset()], [Close()], said("Hello")]) as server:
        assert text_of(ask(backend_at(server.url))) == "Hello"
        assert len(server.received) == 3


def test_a_connection_that_died_while_idle_is_noticed() -> None:
    with ChatServer([[*said("one"), Close()], said("two")]) as server:
        backend = backend_at(server.url)
        assert text_of(ask(backend)) == "one"
        assert text_of(ask(backend)) == "two"


def test_something_that_does_not_speak_http() -> None:
    with raw_server(lambda connection: connection.sendall(b"SSH-2.0-OpenSSH\r\n")) as port:
        events, sentence = failing(backend_at(f"http://{HOST}:{port}/v1"))
    assert events == []
    assert f"{HOST}:{port}" in sentence


def test_an_answer_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codekernel.llm.http_stream.MAX_STREAM_BYTES", 2000)
    with ChatServer([[delta("word ") for _ in range(100)]]) as server:
        events, sentence = failing(backend_at(server.url))
    assert "broke off" in sentence
    assert usage_of(events).output_tokens > 0


def test_the_next_answer_does_not_suffer_from_the_last_fault() -> None:
    script = [[delta("x"), Reset()], [delta("x"), Data("garbage")], said("fine")]
    with ChatServer(script) as server:
        backend = backend_at(server.url)
        failing(backend)
        failing(backend)
        assert text_of(ask(backend)) == "fine"


def test_whoever_stops_listening_ends_the_exchange() -> None:
    with ChatServer([[delta("x"), Hang()]]) as server:
        events = backend_at(server.url).stream(QUESTION, CancelToken())
        next(events)
        events.close()
        assert server.received[0].hung_up.wait(10)


def test_an_answer_that_does_not_end_after_its_end_is_complete() -> None:
    with ChatServer([[*said("Hello"), Hang()]]) as server:
        assert text_of(ask(backend_at(server.url))) == "Hello"
        assert server.received[0].hung_up.wait(10)


@pytest.mark.parametrize(
    "answer",
    [
        refused(401, f"Incorrect API key provided: {KEY}"),
        refused(400, f"bad {KEY}"),
        [delta("x"), Data({"error": {"message": f"your key {KEY} is rejected"}})],
        [delta("x"), Data(f"garbage {KEY}")],
    ],
)
def test_an_echoed_key_is_not_shown(answer: list[Step]) -> None:
    with ChatServer([answer]) as server:
        _, sentence = failing(backend_at(server.url))
    assert "[hidden]" in sentence


def test_an_environment_that_cannot_work_is_told_when_something_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/at/all.pem")
    with ChatServer([said("x")]) as server:
        events, sentence = failing(backend_at(server.url))
        assert server.received == []
    assert events == []
    assert "SSL_CERT_FILE" in sentence


def test_a_key_that_cannot_be_sent_is_told() -> None:
    with ChatServer([said("x")]) as server, pytest.raises(NetworkError, match="copy the key"):
        list(backend_at(server.url, api_key="sk\n1").stream(QUESTION, CancelToken()))


def test_patience_is_the_same_for_an_answer_that_only_comments() -> None:
    patience = ChatTimeouts(
        first_token_timeout_seconds=10, idle_timeout_seconds=10, retry_backoff_seconds=()
    )
    with ChatServer([[Raw(b": still working\n\n"), *said("Hello"), *ended()]]) as server:
        assert text_of(ask(backend_at(server.url, patience=patience))) == "Hello"
    assert patience != IMPATIENT
