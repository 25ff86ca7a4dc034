import json
import threading

import pytest
from codekernel.domain.chat import (
    ChatFinished,
    ChatMessage,
    ChatRequest,
    ChatToolCall,
    ChatToolCalls,
    Role,
    TextDelta,
    TokensUsed,
)
from codekernel.domain.concurrency import CancelToken
from codekernel.llm.providers.base import EndpointCapabilities, InvalidBodyError
from codekernel.llm.providers.openai import SseDecoder, build_openai_payload, merge_user_messages
from hypothesis import given
from hypothesis import strategies as st
from llm.chatting import (
    QUESTION,
    QUESTION_TOKENS,
    QUESTION_WITH_TOOLS,
    SEARCH,
    ask,
    backend_at,
    text_of,
    thought_of,
    usage_of,
)
from llm.trying import KEY
from support.chat_server import (
    DONE,
    BodyBytes,
    ChatServer,
    ReceivedRequest,
    ResponseHead,
    SetEvent,
    Step,
    StreamEvent,
    WaitForEvent,
    WholeResponse,
    delta,
    end_reply,
    reply_calls,
    reply_error,
    reply_text,
    usage,
)


def test_an_answer_comes_piece_by_piece_then_its_end_then_its_count() -> None:
    with ChatServer([reply_text("Hello", " world", used=(9, 2))]) as server:
        events = ask(backend_at(server.url))
    assert events == [
        TextDelta("Hello"),
        TextDelta(" world"),
        ChatFinished("stop"),
        TokensUsed(9, 2, exact=True),
    ]


def test_a_piece_is_told_before_the_next_one_is_sent() -> None:
    seen = threading.Event()
    script = [delta("one"), WaitForEvent(seen), delta("two"), *end_reply()]
    with ChatServer([script]) as server:
        events = backend_at(server.url).stream(QUESTION, CancelToken())
        assert next(events) == TextDelta("one")
        seen.set()
        assert next(events) == TextDelta("two")
        list(events)


def test_the_request_is_the_one_every_such_endpoint_understands() -> None:
    call = ChatToolCall("c1", "search", '{"q": "x"}')
    request = ChatRequest(
        (
            ChatMessage(Role.SYSTEM, "Be brief."),
            ChatMessage(Role.USER, "Hm?"),
            ChatMessage(Role.ASSISTANT, "", tool_calls=(call, ChatToolCall("c2", "read", '{"p'))),
            ChatMessage(Role.TOOL, "found", tool_call_id="c1"),
        ),
        tools=(SEARCH,),
    )
    with ChatServer([reply_text("x")]) as server:
        ask(backend_at(server.url), request)
        received = server.received[0]
    assert received.path == "/v1/chat/completions"
    assert received.headers["Authorization"] == f"Bearer {KEY}"
    function = {"name": "search", "arguments": '{"q": "x"}'}
    assert received.json == {
        "model": "some-model",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "search",
                    "description": "Searches the code.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hm?"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": function},
                    # Arguments that the model broke: a server would refuse them.
                    {
                        "id": "c2",
                        "type": "function",
                        "function": {"name": "read", "arguments": "{}"},
                    },
                ],
            },
            {"role": "tool", "content": "found", "tool_call_id": "c1"},
        ],
    }


def test_without_a_key_no_authorization_is_sent() -> None:
    with ChatServer([reply_text("x")]) as server:
        ask(backend_at(server.url, api_key=""))
        assert "Authorization" not in server.received[0].headers


def test_tool_calls_come_whole_after_the_text() -> None:
    script = reply_calls(("search", {"q": "a"}), ("search", {"q": "b"}), used=(5, 6))
    with ChatServer([[delta("Let me look."), *script]]) as server:
        events = ask(backend_at(server.url), QUESTION_WITH_TOOLS)
    calls = (
        ChatToolCall("call_0", "search", '{"q": "a"}'),
        ChatToolCall("call_1", "search", '{"q": "b"}'),
    )
    assert events == [
        TextDelta("Let me look."),
        ChatToolCalls(calls),
        ChatFinished("tool_calls"),
        TokensUsed(5, 6, exact=True),
    ]


@pytest.mark.parametrize(
    "thinking",
    [
        [delta(reasoning_content="Hm"), delta(reasoning_content=".")],
        [delta(reasoning="Hm"), delta(reasoning=".")],
        [delta(reasoning="Hm", reasoning_content="Hm"), delta(reasoning_content=".")],
        [delta("<thi"), delta("nk>Hm."), delta("</th"), delta("ink>\n\n")],
        [delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}])],
    ],
    ids=["deepseek", "openrouter", "both", "tags", "mistral"],
)
def test_thinking_is_told_apart_from_the_answer(thinking: list[Step]) -> None:
    with ChatServer([[*thinking, *reply_text("Yes", ".")]]) as server:
        events = ask(backend_at(server.url))
    assert thought_of(events) == "Hm."
    assert text_of(events) == "Yes."


@pytest.mark.parametrize(
    "ending",
    [
        [delta(finish_reason="length"), usage(7, 8), DONE],
        [usage(7, 8), delta(finish_reason="length"), DONE],
        [delta(finish_reason="length"), usage(7, 8)],
        [
            StreamEvent(
                {
                    "choices": [{"delta": {}, "finish_reason": "length"}],
                    "usage": {"prompt_tokens": 7, "completion_tokens": 8},
                }
            ),
            DONE,
        ],
        [
            delta(finish_reason="length"),
            StreamEvent({"x_groq": {"usage": {"prompt_tokens": 7, "completion_tokens": 8}}}),
            DONE,
        ],
        [usage(7, 1), delta(finish_reason="length"), usage(7, 8), BodyBytes(b"data: [DONE]")],
    ],
    ids=["openai", "early", "no done", "one chunk", "groq", "running count, cut end"],
)
def test_endings_of_every_kind_are_understood(ending: list[Step]) -> None:
    with ChatServer([[delta("x"), *ending]]) as server:
        events = ask(backend_at(server.url))
    assert events == [TextDelta("x"), ChatFinished("length"), TokensUsed(7, 8, exact=True)]


def test_without_a_count_of_the_provider_the_tokenizer_counts() -> None:
    with ChatServer([reply_text("four", " words", " in", " all")]) as server:
        events = ask(backend_at(server.url))
    assert usage_of(events) == TokensUsed(QUESTION_TOKENS, 4, exact=False)


def test_a_count_that_is_null_or_nonsense_is_no_count() -> None:
    nonsense = StreamEvent(
        {"choices": [], "usage": {"prompt_tokens": -1, "completion_tokens": "x"}}
    )
    nothing = StreamEvent({"choices": [], "usage": None})
    with ChatServer([[nothing, delta("x"), nonsense, *end_reply()]]) as server:
        assert not usage_of(ask(backend_at(server.url))).exact


def test_a_server_that_does_not_stream_is_understood() -> None:
    message = {
        "role": "assistant",
        "content": "<think>Hm.</think>Hello",
        "tool_calls": [{"id": "c", "function": {"name": "search", "arguments": "{}"}}],
    }
    whole = {
        "choices": [{"message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    with ChatServer([[WholeResponse(200, json.dumps(whole, indent=2))]]) as server:
        events = ask(backend_at(server.url))
    assert thought_of(events) == "Hm."
    assert events[1:] == [
        TextDelta("Hello"),
        ChatToolCalls((ChatToolCall("c", "search", "{}"),)),
        ChatFinished("tool_calls"),
        TokensUsed(3, 4, exact=True),
    ]


@pytest.mark.parametrize("declared", ["text/plain", "application/json", "application/octet-stream"])
def test_a_stream_of_the_wrong_declared_type_is_read_all_the_same(declared: str) -> None:
    with ChatServer(
        [[ResponseHead(headers={"Content-Type": declared}), *reply_text("Hello")]]
    ) as server:
        assert text_of(ask(backend_at(server.url))) == "Hello"


def test_comments_and_empty_deltas_are_read_over() -> None:
    script: list[Step] = [
        BodyBytes(b"\xef\xbb\xbf: WORKING\n\n\r\n"),
        delta(role="assistant"),
        delta(""),
    ]
    with ChatServer([[*script, StreamEvent(""), *reply_text("Hello")]]) as server:
        assert ask(backend_at(server.url))[0] == TextDelta("Hello")


def test_characters_cut_in_their_middle_come_out_whole() -> None:
    body = b"".join(
        b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\r\n\r\n"
        for event in (delta("好🎉").payload, delta(finish_reason="stop").payload)
    )
    with ChatServer([[BodyBytes(body[at : at + 1]) for at in range(len(body))]]) as server:
        assert text_of(ask(backend_at(server.url))) == "好🎉"


def test_the_connection_is_used_again() -> None:
    with ChatServer([reply_text("x")]) as server:
        backend = backend_at(server.url)
        for _ in range(5):
            ask(backend)
        backend.close()
        assert len(server.peers) == 1


def test_answers_at_the_same_time_do_not_mix() -> None:
    gate = threading.Barrier(8)

    def echo(received: ReceivedRequest) -> list[Step]:
        question = received.json["messages"][0]["content"]
        gate.wait(60)
        return reply_text(*(f"{question}-{n} " for n in range(50)))

    answers = {}
    with ChatServer([echo]) as server:
        backend = backend_at(server.url)

        def converse(name: str) -> None:
            request = ChatRequest((ChatMessage(Role.USER, name),))
            answers[name] = text_of(ask(backend, request))

        threads = [threading.Thread(target=converse, args=(f"q{n}",)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for name, answer in answers.items():
        assert answer == "".join(f"{name}-{n} " for n in range(50))
    assert len(answers) == 8


def test_an_endpoint_that_refuses_to_count_is_asked_without_and_that_is_remembered() -> None:
    no = reply_error(400, "Unrecognized request argument supplied: stream_options")
    with ChatServer([no, reply_text("one"), reply_text("two")]) as server:
        assert text_of(ask(backend_at(server.url))) == "one"
        assert text_of(ask(backend_at(server.url))) == "two"
        asked = [received.json for received in server.received]
    assert ["stream_options" in request for request in asked] == [True, False, False]


def test_a_drip_slower_than_any_reader_still_arrives() -> None:
    steps: list[Step] = []
    read = [threading.Event() for _ in range(5)]
    for event in read:
        steps += [delta("x"), SetEvent(event)]
    with ChatServer([[*steps, *end_reply()]]) as server:
        for number, _ in enumerate(backend_at(server.url).stream(QUESTION, CancelToken())):
            if number < len(read):
                assert read[number].wait(60)


def make_message(role: Role, content: str) -> ChatMessage:
    return ChatMessage(role, content)


def test_what_a_person_said_in_a_row_is_sent_as_one_message() -> None:
    request = ChatRequest(
        (
            make_message(Role.SYSTEM, "Be brief."),
            make_message(Role.USER, "The edit was taken back."),
            make_message(Role.USER, "Try again."),
            make_message(Role.ASSISTANT, "Done."),
            make_message(Role.USER, "Thanks."),
        )
    )

    sent = build_openai_payload("model", request, EndpointCapabilities())["messages"]

    assert [(one["role"], one["content"]) for one in sent] == [
        ("system", "Be brief."),
        ("user", "The edit was taken back.\n\nTry again."),
        ("assistant", "Done."),
        ("user", "Thanks."),
    ]


@pytest.mark.parametrize("role", [Role.ASSISTANT, Role.TOOL, Role.SYSTEM])
def test_messages_of_others_stay_apart(role: Role) -> None:
    pair = [make_message(role, "one"), make_message(role, "two")]

    assert merge_user_messages(pair) == pair


def test_calls_and_their_results_are_left_as_they_are() -> None:
    call = ChatMessage(Role.ASSISTANT, "", (ChatToolCall("1", "read_file", "{}"),))
    result = ChatMessage(Role.TOOL, "text", (), "1")

    assert merge_user_messages([make_message(Role.USER, "a"), call, result]) == [
        make_message(Role.USER, "a"),
        call,
        result,
    ]


def events(*pieces: bytes) -> list[str]:
    stream = SseDecoder()
    return [data for piece in pieces for data in stream.feed(piece)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"data: a\n\n", ["a"]),
        (b"data:a\n\n", ["a"]),
        (b"data:  a\n\n", [" a"]),
        (b"data: a\r\n\r\n", ["a"]),
        (b"data: a\r\r", ["a"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data: a\r\ndata: b\rdata: c\n\n", ["a\nb\nc"]),
        (b": a comment\n\ndata: a\n\n", ["a"]),
        (b":\n:\ndata: a\n:\n\n", ["a"]),
        (b"event: x\nid: 7\nretry: 10\ndata: a\n\n", ["a"]),
        (b"event: only\n\n", []),
        (b"data\n\n", [""]),
        (b"data:\n\n", [""]),
        (b"data\ndata\n\n", ["\n"]),
        (b"unknown: x\ndata: a\n\n", ["a"]),
        (b" data: a\n\n", []),
        (b"Data: a\n\n", []),
        (b"data: a: b\n\n", ["a: b"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", ["a"]),
        (b"\n\n\ndata: a\n\n\n\n", ["a"]),
        (b"data: a\n\ndata: never ended\n", ["a"]),
        ("data: 好 🎉\n\n".encode(), ["好 🎉"]),
        (b"data: \xff\n\n", ["\N{REPLACEMENT CHARACTER}"]),
        ("data: a\u2028b\x0bc\n\n".encode(), ["a\u2028b\x0bc"]),
    ],
)
def test_the_specification_is_followed(body: bytes, expected: list[str]) -> None:
    assert events(body) == expected
    assert events(*(body[at : at + 1] for at in range(len(body)))) == expected


@given(
    st.lists(st.sampled_from(["data: x", "data: é", "data", ":c", "id: 1", "", "data: 🎉"])),
    st.sampled_from(["\n", "\r", "\r\n"]),
    st.data(),
)
def test_where_the_bytes_are_cut_makes_no_difference(
    lines: list[str], end: str, data: st.DataObject
) -> None:
    body = "".join(line + end for line in lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)))))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert events(*pieces) == events(body)


def test_an_event_is_told_as_soon_as_its_blank_line_begins() -> None:
    stream = SseDecoder()
    assert list(stream.feed(b"data: a\r\n\r")) == ["a"]
    assert list(stream.feed(b"\ndata: b\r\n\r\n")) == ["b"]


@pytest.mark.parametrize("body", [b"data: " + b"x" * 100, b"data: xxxxxxxxxx\n" * 10])
def test_an_event_that_does_not_end_is_given_up(body: bytes) -> None:
    with pytest.raises(InvalidBodyError):
        list(SseDecoder(max_event_bytes=50).feed(body))


def test_many_small_events_are_never_too_long() -> None:
    stream = SseDecoder(max_event_bytes=50)
    for _ in range(100):
        assert list(stream.feed(b"data: ten bytes!\n\n")) == ["ten bytes!"]


@pytest.mark.parametrize(
    ("body", "rest"),
    [(b"data: [DONE]", "[DONE]"), (b"data: a\n", "a"), (b"data: a\n\n", None), (b"", None)],
)
def test_what_the_end_cut_off_can_be_asked_for(body: bytes, rest: str | None) -> None:
    stream = SseDecoder()
    list(stream.feed(body))
    assert stream.take_rest() == rest
