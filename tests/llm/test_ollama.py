import json

import pytest
from codekernel.domain.chat import (
    ChatBackend,
    ChatFinished,
    ChatMessage,
    ChatRequest,
    ChatToolCall,
    ChatToolCalls,
    ReasoningDelta,
    Role,
    TextDelta,
    TokensUsed,
)
from codekernel.errors import ToolsRefused
from codekernel.llm.http_client import resolve_ollama_url
from codekernel.llm.providers.base import InvalidBodyError
from codekernel.llm.providers.ollama import MAX_CONTEXT_SIZE, NdjsonDecoder
from llm.chatting import (
    QUESTION_TOKENS,
    QUESTION_WITH_TOOLS,
    SEARCH,
    ask,
    backend_at,
    expect_failure,
    stopped_after,
    text_of,
    usage_of,
)
from support.chat_server import (
    NDJSON,
    BodyBytes,
    ChatServer,
    CloseConnection,
    ResetConnection,
    ResponseHead,
    Step,
    WaitForDisconnect,
    WholeResponse,
)

DONE = {"done": True, "done_reason": "stop", "prompt_eval_count": 26, "eval_count": 9}


def lines(*chunks: object) -> list[Step]:
    return [
        ResponseHead(headers=NDJSON),
        *(BodyBytes(json.dumps(chunk).encode() + b"\n") for chunk in chunks),
    ]


def message(content: str = "", **fields: object) -> dict[str, object]:
    said = {"role": "assistant", "content": content, **fields}
    return {"model": "m", "message": said, "done": False}


def at(server: ChatServer) -> ChatBackend:
    return backend_at(f"{server.root}/api/chat", api_key="")


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("http://localhost:11434", "http://localhost:11434/api/chat"),
        ("http://localhost:11434/", "http://localhost:11434/api/chat"),
        ("http://localhost:11434/api", "http://localhost:11434/api/chat"),
        ("https://models.example/api/chat", "https://models.example/api/chat"),
        ("http://localhost:11434/v1", None),
        ("http://localhost:11434/v1/chat/completions", None),
        ("https://openrouter.example/api/v1", None),
        ("https://webui.example/api", None),
        ("https://api.example.com", None),
    ],
)
def test_ollamas_own_api_is_recognised_by_its_path_or_port(typed: str, asked: str | None) -> None:
    assert resolve_ollama_url(typed) == asked


def test_an_answer_with_thoughts_and_tool_calls_is_read() -> None:
    calls = [
        {"function": {"name": "search", "arguments": {"q": "a"}}},
        {"function": {"name": "search", "arguments": {"q": "b"}}},
    ]
    script = lines(
        message(thinking="Hm."), message("Hel"), message("lo"), message(tool_calls=calls), DONE
    )
    with ChatServer([script]) as server:
        events = ask(at(server), QUESTION_WITH_TOOLS)
    assert events == [
        ReasoningDelta("Hm."),
        TextDelta("Hel"),
        TextDelta("lo"),
        ChatToolCalls(
            (
                ChatToolCall("call_0", "search", '{"q": "a"}'),
                ChatToolCall("call_1", "search", '{"q": "b"}'),
            )
        ),
        ChatFinished("stop"),
        TokensUsed(26, 9, exact=True),
    ]


def test_the_request_is_in_its_own_words() -> None:
    request = ChatRequest(
        (
            ChatMessage(
                Role.ASSISTANT, "", tool_calls=(ChatToolCall("c1", "search", '{"q": "x"}'),)
            ),
            ChatMessage(Role.TOOL, "found", tool_call_id="c1"),
        ),
        tools=(SEARCH,),
    )
    with ChatServer([lines(message("x"), DONE)]) as server:
        ask(at(server), request)
        received = server.received[0]
    assert received.path == "/api/chat"
    assert "stream_options" not in received.json
    assert received.json["options"] == {"num_ctx": 4096}
    call = {"id": "c1", "function": {"name": "search", "arguments": {"q": "x"}}}
    assert received.json["messages"] == [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "found", "tool_name": "search", "tool_call_id": "c1"},
    ]
    assert received.json["tools"][0]["function"]["name"] == "search"


def test_the_window_grows_with_what_is_sent_and_never_shrinks() -> None:
    def words(number: int) -> ChatRequest:
        return ChatRequest((ChatMessage(Role.USER, "word " * number),))

    with ChatServer([lines(message("x"), DONE)]) as server:
        backend = at(server)
        assert backend.context_tokens == MAX_CONTEXT_SIZE
        for number in (10, 5000, 10, 100_000):
            ask(backend, words(number))
        windows = [received.json["options"]["num_ctx"] for received in server.received]
    assert windows == [4096, 8192, 8192, MAX_CONTEXT_SIZE]


def test_without_a_count_the_tokenizer_counts() -> None:
    with ChatServer([lines(message("two words"), {"done": True})]) as server:
        events = ask(at(server))
    assert usage_of(events) == TokensUsed(QUESTION_TOKENS, 2, exact=False)
    assert ChatFinished("stop") in events


def test_the_last_line_needs_no_end_and_may_be_the_only_one() -> None:
    whole = {**message("Hello"), **DONE}
    with ChatServer([[WholeResponse(200, whole)]]) as server:
        assert text_of(ask(at(server))) == "Hello"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (ResetConnection(), "broke off"),
        (CloseConnection(), "broke off"),
        (BodyBytes(b""), "broke off"),
        (BodyBytes(b'{"message": {"con'), "broke off"),
        (BodyBytes(b'{"message": {"con\n'), "not with a chat completion"),
        (BodyBytes(b'{"error": "the runner has died"}\n'), "the runner has died"),
    ],
    ids=["reset", "close", "no done", "cut line", "garbage", "error"],
)
def test_an_answer_that_breaks_off_is_kept_and_counted(fault: Step, words: str) -> None:
    steps = [*lines(message("Hello"))]
    if fault != BodyBytes(b""):
        steps.append(fault)
    with ChatServer([steps]) as server:
        events, sentence = expect_failure(at(server))
    assert events == [TextDelta("Hello"), TokensUsed(QUESTION_TOKENS, 1, exact=False)]
    assert words in sentence


def test_a_model_that_is_not_there_is_told() -> None:
    answer = WholeResponse(404, {"error": "model 'some-model' not found"})
    with ChatServer([[answer]]) as server:
        _, sentence = expect_failure(at(server))
    assert "does not know this model" in sentence
    assert "not found" in sentence


def test_a_model_without_tools_is_remembered() -> None:
    answer = WholeResponse(400, {"error": "some-model does not support tools"})
    with ChatServer([[answer]]) as server:
        backend = at(server)
        expect_failure(backend, QUESTION_WITH_TOOLS, kind=ToolsRefused)
        assert not backend.supports_tools


@pytest.mark.parametrize("body", ["<html></html>", "Ollama is running", '{"status": "ok"}', ""])
def test_something_else_at_this_address_is_told(body: str) -> None:
    with ChatServer([[WholeResponse(200, body)]]) as server:
        events, sentence = expect_failure(at(server))
    assert events == []
    assert "not with a chat completion" in sentence


def test_a_stop_is_heard() -> None:
    with ChatServer([[*lines(message("Hello")), WaitForDisconnect()]]) as server:
        received = stopped_after(1, at(server))
        assert server.received[0].hung_up.wait(60)
    assert usage_of(received) == TokensUsed(QUESTION_TOKENS, 1, exact=False)


def test_lines_come_out_whole_wherever_they_are_cut() -> None:
    body = '{"a": "好"}\r\n\n{"b": 1}\n{"c"'.encode()
    lines = NdjsonDecoder()
    found = [line for at in range(len(body)) for line in lines.feed(body[at : at + 1])]
    assert [line.strip() for line in found] == ['{"a": "好"}', '{"b": 1}']
    assert lines.take_rest() == '{"c"'
    assert lines.take_rest() is None


def test_a_line_that_does_not_end_is_given_up() -> None:
    with pytest.raises(InvalidBodyError):
        list(NdjsonDecoder(max_line_bytes=10).feed(b"x" * 11))
