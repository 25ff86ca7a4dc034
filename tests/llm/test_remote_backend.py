"""One fault at a time: each has its sentence, and its count if the model was at work."""

import contextlib
import dataclasses
import json
import socket
import threading
from collections.abc import Generator
from pathlib import Path

import pytest
import trustme
from codekernel.domain.chat import (
    ChatMessage,
    ChatRequest,
    ChatToolCall,
    Role,
    TextDelta,
    TokensUsed,
)
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import GenerationModel
from codekernel.errors import Cancelled, NetworkError
from codekernel.llm.http_request import ChatTimeouts
from codekernel.llm.remote_backend import (
    TEMPLATE_TOKENS_PER_MESSAGE,
    TOKEN_CACHE_SIZE,
    CachedTokenCounter,
    RemoteBackend,
    mask_request,
    open_remote_backend,
)
from llm.chatting import (
    IMPATIENT,
    QUESTION,
    QUESTION_TOKENS,
    QUESTION_WITH_TOOLS,
    ask,
    backend_at,
    count_words,
    expect_failure,
    stopped_after,
    text_of,
    usage_of,
)
from llm.loopback import HOST, raw_server
from llm.test_network_errors import server_side
from llm.trying import KEY
from support.chat_server import (
    BodyBytes,
    ChatServer,
    CloseConnection,
    Delay,
    ReceivedRequest,
    ResetConnection,
    ResponseHead,
    SocketBytes,
    Step,
    StreamEvent,
    WaitForDisconnect,
    WaitForEvent,
    WholeResponse,
    delta,
    end_reply,
    reply_error,
    reply_text,
    usage,
)
from support.environ import Environ

HALF_AN_ANSWER = (TextDelta("Hello"), TokensUsed(QUESTION_TOKENS, 1, exact=False))


def test_a_refused_connection() -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    events, sentence = expect_failure(backend_at(f"http://{HOST}:{port}/v1"))
    assert events == []
    assert f"{HOST}:{port} refused the connection" in sentence


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (ResetConnection(), "broke off in the middle of its answer"),
        (CloseConnection(), "broke off in the middle of its answer"),
        (SocketBytes(b"zzz\r\n"), "broke off in the middle of its answer"),
        (BodyBytes(b'data: {"choices": [{"del'), "broke off in the middle of its answer"),
        (StreamEvent('{"choices": [{"del'), "not with a chat completion"),
        (StreamEvent("garbage"), "not with a chat completion"),
        (StreamEvent([1, 2]), "not with a chat completion"),
        (StreamEvent({"error": {"message": "the GPU is on fire"}}), "the GPU is on fire"),
        (StreamEvent({"error": "no more"}), "no more"),
        (StreamEvent({"object": "error", "message": "overloaded"}), "overloaded"),
        (StreamEvent({"error": {"code": 502, "message": "upstream"}}), "(502)"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_an_answer_that_breaks_off_is_kept_and_counted(fault: Step, words: str) -> None:
    with ChatServer([[delta("Hello"), fault]]) as server:
        events, sentence = expect_failure(backend_at(server.url))
        assert len(server.received) == 1
    assert tuple(events) == HALF_AN_ANSWER
    assert words in sentence
    assert f"{HOST}:{server.port}" in sentence


def test_an_answer_that_falls_silent_is_given_up_and_its_connection_cut() -> None:
    patience = ChatTimeouts(first_token_timeout_seconds=60, idle_timeout_seconds=0.1)
    with ChatServer([[delta("Hello"), WaitForDisconnect()]]) as server:
        events, sentence = expect_failure(backend_at(server.url, patience=patience))
        assert server.received[0].hung_up.wait(60)
    assert tuple(events) == HALF_AN_ANSWER
    assert "said nothing more" in sentence


@pytest.mark.slow
@pytest.mark.parametrize("before", [[], [ResponseHead()]])
def test_a_server_that_never_begins_is_given_up_and_counted_as_asked(before: list[Step]) -> None:
    patience = ChatTimeouts(first_token_timeout_seconds=1, idle_timeout_seconds=60)
    with ChatServer([reply_text("x"), [*before, WaitForDisconnect()]]) as server:
        backend = backend_at(server.url, patience=patience)
        ask(backend)  # so that the second on the clock is not spent on loading libraries
        events, sentence = expect_failure(backend)
        assert server.received[1].hung_up.wait(60)
    assert events == [TokensUsed(QUESTION_TOKENS, 0, exact=False)]
    assert "did not answer in time" in sentence


@pytest.mark.parametrize(
    "answer",
    [
        [WholeResponse(200, "<html><title>Welcome</title></html>", {"Content-Type": "text/html"})],
        [WholeResponse(200, json.dumps({"status": "ok"}))],
        [WholeResponse(200, '{"choices": [')],
        [WholeResponse(200, "pong", {"Content-Type": "text/plain"})],
        [WholeResponse(200, "")],
        [BodyBytes(b"\x00\xff\xfe" * 100)],
        [StreamEvent("garbage")],
        [ResponseHead()],
        [StreamEvent("[DONE]")],
    ],
    ids=["page", "json", "cut json", "text", "empty", "bytes", "no json", "no event", "only done"],
)
def test_what_is_no_chat_at_all_costs_nothing(answer: list[Step]) -> None:
    with ChatServer([answer]) as server:
        events, sentence = expect_failure(backend_at(server.url))
    assert events == []
    assert "not with a chat completion" in sentence


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_trouble_before_the_first_event_is_tried_again(status: int) -> None:
    with ChatServer(
        [reply_error(status), reply_error(status), reply_text("Hello", used=(1, 1))]
    ) as server:
        events = ask(backend_at(server.url))
        assert len(server.received) == 3
    assert text_of(events) == "Hello"
    assert usage_of(events) == TokensUsed(1, 1, exact=True)


def test_trouble_after_the_first_event_is_not_tried_again() -> None:
    with ChatServer([[delta("Hello"), ResetConnection()], reply_text("again")]) as server:
        expect_failure(backend_at(server.url))
        assert len(server.received) == 1


def test_a_server_is_left_alone_for_as_long_as_it_asks() -> None:
    busy = reply_error(429, "slow down", headers={"Retry-After": "3600"})
    with ChatServer([busy]) as server:
        events, sentence = expect_failure(backend_at(server.url))
        assert len(server.received) == 1
    assert events == []
    assert "it asks to wait 3600 seconds" in sentence


def test_a_connection_dropped_before_any_answer_is_tried_again() -> None:
    with ChatServer([[ResetConnection()], [CloseConnection()], reply_text("Hello")]) as server:
        assert text_of(ask(backend_at(server.url))) == "Hello"
        assert len(server.received) == 3


def test_a_connection_that_died_while_idle_is_noticed() -> None:
    with ChatServer([[*reply_text("one"), CloseConnection()], reply_text("two")]) as server:
        backend = backend_at(server.url)
        assert text_of(ask(backend)) == "one"
        assert text_of(ask(backend)) == "two"


def test_something_that_does_not_speak_http() -> None:
    with raw_server(lambda connection: connection.sendall(b"SSH-2.0-OpenSSH\r\n")) as port:
        events, sentence = expect_failure(backend_at(f"http://{HOST}:{port}/v1"))
    assert events == []
    assert f"{HOST}:{port}" in sentence


def test_an_answer_without_an_end_is_given_up() -> None:
    with ChatServer([[delta("word ") for _ in range(100)]]) as server:
        backend = backend_at(server.url)
        assert isinstance(backend, RemoteBackend)
        events, sentence = expect_failure(dataclasses.replace(backend, max_stream_bytes=2000))
    assert "broke off" in sentence
    assert usage_of(events).output_tokens > 0


def test_the_next_answer_does_not_suffer_from_the_last_fault() -> None:
    script: list[list[Step]] = [
        [delta("x"), ResetConnection()],
        [delta("x"), StreamEvent("garbage")],
        reply_text("fine"),
    ]
    with ChatServer(script) as server:
        backend = backend_at(server.url)
        expect_failure(backend)
        expect_failure(backend)
        assert text_of(ask(backend)) == "fine"


def test_whoever_stops_listening_ends_the_exchange() -> None:
    with ChatServer([[delta("x"), WaitForDisconnect()]]) as server:
        events = backend_at(server.url).stream(QUESTION, CancelToken())
        next(events)
        assert isinstance(events, Generator)
        events.close()
        assert server.received[0].hung_up.wait(60)


def test_an_answer_that_does_not_end_after_its_end_is_complete() -> None:
    with ChatServer([[*reply_text("Hello"), WaitForDisconnect()]]) as server:
        assert text_of(ask(backend_at(server.url))) == "Hello"
        assert server.received[0].hung_up.wait(60)


@pytest.mark.parametrize(
    "answer",
    [
        reply_error(401, f"Incorrect API key provided: {KEY}"),
        reply_error(400, f"bad {KEY}"),
        [delta("x"), StreamEvent({"error": {"message": f"your key {KEY} is rejected"}})],
        [delta("x"), StreamEvent(f"garbage {KEY}")],
    ],
)
def test_an_echoed_key_is_not_shown(answer: list[Step]) -> None:
    with ChatServer([answer]) as server:
        _, sentence = expect_failure(backend_at(server.url))
    assert "[hidden]" in sentence


def test_an_environment_that_cannot_work_is_told_when_something_is_asked(
    environ: Environ,
) -> None:
    environ["SSL_CERT_FILE"] = "/nowhere/at/all.pem"
    with ChatServer([reply_text("x")]) as server:
        events, sentence = expect_failure(backend_at(server.url))
        assert server.received == []
    assert events == []
    assert "SSL_CERT_FILE" in sentence


def test_a_key_that_cannot_be_sent_is_told() -> None:
    with ChatServer([reply_text("x")]) as server, pytest.raises(NetworkError, match="copy the key"):
        list(backend_at(server.url, api_key="sk\n1").stream(QUESTION, CancelToken()))


def test_patience_is_the_same_for_an_answer_that_only_comments() -> None:
    patience = ChatTimeouts(
        first_token_timeout_seconds=60, idle_timeout_seconds=60, retry_backoff_seconds=()
    )
    with ChatServer(
        [[BodyBytes(b": still working\n\n"), *reply_text("Hello"), *end_reply()]]
    ) as server:
        assert text_of(ask(backend_at(server.url, patience=patience))) == "Hello"
    assert patience != IMPATIENT


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


@pytest.mark.parametrize("before", [[], [ResponseHead()], [BodyBytes(b": comment\n\n")]])
def test_a_stop_before_the_first_word_counts_what_was_sent(before: list[Step]) -> None:
    with ChatServer([[*before, WaitForDisconnect()]]) as server:
        backend = backend_at(server.url, patience=PATIENT)
        events, sentence = expect_failure(backend, cancel=cancelling(server), kind=Cancelled)
        assert server.received[0].hung_up.wait(60)
    assert events == [TokensUsed(QUESTION_TOKENS, 0, exact=False)]
    assert f"{HOST}:{server.port} was stopped" in sentence


def test_a_stop_in_the_middle_keeps_and_counts_what_was_received() -> None:
    with ChatServer([[delta("two "), delta("words"), WaitForDisconnect()]]) as server:
        received = stopped_after(2, backend_at(server.url, patience=PATIENT))
        assert server.received[0].hung_up.wait(60)
    assert text_of(received) == "two words"
    assert usage_of(received) == TokensUsed(QUESTION_TOKENS, 2, exact=False)


def test_a_stop_between_pieces_that_keep_coming_is_heard() -> None:
    endless = [step for _ in range(10_000) for step in (Delay(0.001), delta("x "))]
    with ChatServer([endless]) as server:
        received = stopped_after(5, backend_at(server.url, patience=PATIENT))
    assert received[:-1] == [TextDelta("x ")] * 5
    assert usage_of(received).output_tokens == 5


def test_a_count_the_provider_gave_before_the_stop_is_kept() -> None:
    with ChatServer([[usage(7, 3), delta("x"), WaitForDisconnect()]]) as server:
        received = stopped_after(1, backend_at(server.url, patience=PATIENT))
    assert usage_of(received) == TokensUsed(7, 3, exact=True)


def test_a_stop_beforehand_sends_nothing() -> None:
    cancel = CancelToken()
    cancel.cancel()
    with ChatServer([reply_text("x")]) as server:
        events, _ = expect_failure(backend_at(server.url), cancel=cancel, kind=Cancelled)
        assert server.received == []
    assert events == []


def test_a_stop_ends_the_wait_between_two_attempts() -> None:
    with ChatServer([reply_error(503)]) as server:
        backend = backend_at(server.url, patience=PATIENT)
        expect_failure(backend, cancel=cancelling(server), kind=Cancelled)
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
        events, _ = expect_failure(backend_at(url, patience=PATIENT), cancel=cancel, kind=Cancelled)
        timer.join()
    assert events == []


def test_a_stop_ends_a_secure_connection_too(tmp_path: Path, environ: Environ) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    environ["SSL_CERT_FILE"] = str(tmp_path / "ca.pem")
    with ChatServer(
        [[delta("x"), WaitForDisconnect()]], tls=server_side(authority.issue_cert(HOST))
    ) as server:
        backend = backend_at(server.url, patience=PATIENT)
        events, _ = expect_failure(backend, cancel=cancelling(server), kind=Cancelled)
        assert server.received[0].hung_up.wait(60)
    assert usage_of(events).input_tokens == QUESTION_TOKENS


def test_stopping_one_answer_leaves_the_others_alone() -> None:
    others_begun = threading.Barrier(3)
    stopped = threading.Event()

    def script(received: ReceivedRequest) -> list[Step]:
        if received.json["messages"][0]["content"] == "Stop me":
            return [delta("x"), WaitForDisconnect()]
        return [delta("wh"), WaitForEvent(stopped), *reply_text("ole")]

    answers: list[str] = []
    with ChatServer([script]) as server:
        backend = backend_at(server.url, patience=PATIENT)

        def other() -> None:
            events = backend.stream(QUESTION, CancelToken())
            first = next(events)
            others_begun.wait(60)
            answers.append(text_of([first, *events]))

        threads = [threading.Thread(target=other) for _ in range(2)]
        for thread in threads:
            thread.start()
        cancel = CancelToken()
        mine = backend.stream(ChatRequest((ChatMessage(Role.USER, "Stop me"),)), cancel)
        next(mine)
        others_begun.wait(60)
        cancel.cancel()
        with pytest.raises(Cancelled):
            list(mine)
        stopped.set()
        for thread in threads:
            thread.join()
    assert answers == ["whole", "whole"]


def test_a_text_is_counted_once() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text)

    counter = CachedTokenCounter(count)
    assert [counter.count_text("abc"), counter.count_text("abc"), counter.count_text("")] == [
        3,
        3,
        0,
    ]
    assert asked == ["abc"]


def test_what_is_remembered_does_not_grow_for_ever() -> None:
    counter = CachedTokenCounter(len)
    for number in range(TOKEN_CACHE_SIZE + 100):
        counter.count_text(str(number))
    assert len(counter._cache) == TOKEN_CACHE_SIZE


def test_half_a_surrogate_pair_can_be_counted() -> None:
    assert CachedTokenCounter(len).count_text("\ud83d") == 1


def test_everything_that_is_sent_is_counted() -> None:
    counter = CachedTokenCounter(count_words)
    call = ChatToolCall("id", "search", '{"q": "x"}')
    request = ChatRequest(
        (ChatMessage(Role.USER, "two words"), ChatMessage(Role.ASSISTANT, "", tool_calls=(call,)))
    )
    assert counter.count_request(request) == 2 * TEMPLATE_TOKENS_PER_MESSAGE + 2 + 3
    without_tools = ChatRequest(QUESTION_WITH_TOOLS.messages)
    assert counter.count_request(QUESTION_WITH_TOOLS) > counter.count_request(without_tools)


SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


def test_every_message_but_our_own_rules_is_masked() -> None:
    request = ChatRequest(
        (
            ChatMessage(Role.SYSTEM, "Rules: [masked: ...] stands for a secret."),
            ChatMessage(Role.USER, f"Why is {SECRET} refused?"),
            ChatMessage(Role.ASSISTANT, f"You wrote {SECRET}."),
            ChatMessage(Role.TOOL, f"keys/{SECRET}.txt:1-1\n    1 | x", tool_call_id="1"),
        )
    )
    sent = mask_request(request)
    assert sent.messages[0] == request.messages[0]
    assert all(SECRET not in message.content for message in sent.messages)
    assert [message.role for message in sent.messages] == [one.role for one in request.messages]
    assert mask_request(sent) == sent


def test_arguments_that_are_told_again_stay_json() -> None:
    password = "x9Kq2" + "mZ7pLw"
    given = {"path": "a.env", "content": f'A="1"\nDB_PASSWORD={password}\n', "password": password}
    calls = (
        ChatToolCall(
            "1", "edit_file", json.dumps({**given, "more": [f"Bearer {SECRET}", 3, None]})
        ),
        ChatToolCall("2", "read_file", '{"path": "a.py"}'),
        ChatToolCall("3", "read_file", f'{{"path": broken {SECRET}'),
    )
    sent = mask_request(ChatRequest((ChatMessage(Role.ASSISTANT, "", calls),))).messages[0]
    arguments = json.loads(sent.tool_calls[0].arguments)
    assert arguments["path"] == "a.env"
    assert arguments["content"] == 'A="1"\nDB_PASSWORD=[masked: password]\n'
    assert arguments["more"][1:] == [3, None]
    assert password not in sent.tool_calls[0].arguments
    assert sent.tool_calls[1] == calls[1]
    assert all(SECRET not in call.arguments for call in sent.tool_calls)


def test_whoever_opens_a_model_behind_a_url_gets_the_gate() -> None:
    model = GenerationModel("m", "m-1", "http://127.0.0.1:9/v1", needs_key=False)
    backend = open_remote_backend(model, "", len)
    try:
        assert isinstance(backend, RemoteBackend)
        assert backend.masks_secrets
    finally:
        backend.close()
