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
from codekernel.llm.providers.base import EndpointCapabilities
from codekernel.llm.providers.openai import OpenAiProvider, merge_user_messages
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
    ChatServer,
    Data,
    Raw,
    Received,
    Start,
    Step,
    Tell,
    Wait,
    Whole,
    called,
    delta,
    ended,
    refused,
    said,
    usage,
)


def test_an_answer_comes_piece_by_piece_then_its_end_then_its_count() -> None:
    with ChatServer([said("Hello", " world", used=(9, 2))]) as server:
        events = ask(backend_at(server.url))
    assert events == [
        TextDelta("Hello"),
        TextDelta(" world"),
        ChatFinished("stop"),
        TokensUsed(9, 2, exact=True),
    ]


def test_a_piece_is_told_before_the_next_one_is_sent() -> None:
    seen = threading.Event()
    script = [delta("one"), Wait(seen), delta("two"), *ended()]
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
        max_tokens=50,
        stop=("END",),
    )
    with ChatServer([said("x")]) as server:
        ask(backend_at(server.url), request)
        received = server.received[0]
    assert received.path == "/v1/chat/completions"
    assert received.headers["Authorization"] == f"Bearer {KEY}"
    function = {"name": "search", "arguments": '{"q": "x"}'}
    assert received.json == {
        "model": "some-model",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 50,
        "stop": ["END"],
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
    with ChatServer([said("x")]) as server:
        ask(backend_at(server.url, api_key=""))
        assert "Authorization" not in server.received[0].headers


def test_tool_calls_come_whole_after_the_text() -> None:
    script = called(("search", {"q": "a"}), ("search", {"q": "b"}), used=(5, 6))
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
    with ChatServer([[*thinking, *said("Yes", ".")]]) as server:
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
            Data(
                {
                    "choices": [{"delta": {}, "finish_reason": "length"}],
                    "usage": {"prompt_tokens": 7, "completion_tokens": 8},
                }
            ),
            DONE,
        ],
        [
            delta(finish_reason="length"),
            Data({"x_groq": {"usage": {"prompt_tokens": 7, "completion_tokens": 8}}}),
            DONE,
        ],
        [usage(7, 1), delta(finish_reason="length"), usage(7, 8), Raw(b"data: [DONE]")],
    ],
    ids=["openai", "early", "no done", "one chunk", "groq", "running count, cut end"],
)
def test_endings_of_every_kind_are_understood(ending: list[Step]) -> None:
    with ChatServer([[delta("x"), *ending]]) as server:
        events = ask(backend_at(server.url))
    assert events == [TextDelta("x"), ChatFinished("length"), TokensUsed(7, 8, exact=True)]


def test_without_a_count_of_the_provider_the_tokenizer_counts() -> None:
    with ChatServer([said("four", " words", " in", " all")]) as server:
        events = ask(backend_at(server.url))
    assert usage_of(events) == TokensUsed(QUESTION_TOKENS, 4, exact=False)


def test_a_count_that_is_null_or_nonsense_is_no_count() -> None:
    nonsense = Data({"choices": [], "usage": {"prompt_tokens": -1, "completion_tokens": "x"}})
    nothing = Data({"choices": [], "usage": None})
    with ChatServer([[nothing, delta("x"), nonsense, *ended()]]) as server:
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
    with ChatServer([[Whole(200, json.dumps(whole, indent=2))]]) as server:
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
    with ChatServer([[Start(headers={"Content-Type": declared}), *said("Hello")]]) as server:
        assert text_of(ask(backend_at(server.url))) == "Hello"


def test_comments_and_empty_deltas_are_read_over() -> None:
    script = [Raw(b"\xef\xbb\xbf: WORKING\n\n\r\n"), delta(role="assistant"), delta("")]
    with ChatServer([[*script, Data(""), *said("Hello")]]) as server:
        assert ask(backend_at(server.url))[0] == TextDelta("Hello")


def test_characters_cut_in_their_middle_come_out_whole() -> None:
    body = b"".join(
        b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\r\n\r\n"
        for event in (delta("好🎉").payload, delta(finish_reason="stop").payload)
    )
    with ChatServer([[Raw(body[at : at + 1]) for at in range(len(body))]]) as server:
        assert text_of(ask(backend_at(server.url))) == "好🎉"


def test_the_connection_is_used_again() -> None:
    with ChatServer([said("x")]) as server:
        backend = backend_at(server.url)
        for _ in range(5):
            ask(backend)
        backend.close()
        assert len(server.peers) == 1


def test_answers_at_the_same_time_do_not_mix() -> None:
    gate = threading.Barrier(8)

    def echo(received: Received) -> list[Step]:
        question = received.json["messages"][0]["content"]
        gate.wait(10)
        return said(*(f"{question}-{n} " for n in range(50)))

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
    no = refused(400, "Unrecognized request argument supplied: stream_options")
    with ChatServer([no, said("one"), said("two")]) as server:
        assert text_of(ask(backend_at(server.url))) == "one"
        assert text_of(ask(backend_at(server.url))) == "two"
        asked = [received.json for received in server.received]
    assert ["stream_options" in request for request in asked] == [True, False, False]


def test_an_endpoint_that_names_the_limit_differently_is_asked_its_way() -> None:
    no = refused(
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
    )
    request = ChatRequest(QUESTION.messages, max_tokens=7)
    with ChatServer([no, said("one")]) as server:
        assert text_of(ask(backend_at(server.url), request)) == "one"
        assert server.received[1].json["max_completion_tokens"] == 7
        assert "max_tokens" not in server.received[1].json


def test_an_endpoint_that_takes_no_stop_words_is_asked_without() -> None:
    no = refused(400, "Unsupported parameter: 'stop' is not supported with this model.")
    request = ChatRequest(QUESTION.messages, stop=("END",))
    with ChatServer([no, said("one")]) as server:
        assert text_of(ask(backend_at(server.url), request)) == "one"
        assert "stop" not in server.received[1].json


def test_a_drip_slower_than_any_reader_still_arrives() -> None:
    steps: list[Step] = []
    read = [threading.Event() for _ in range(5)]
    for event in read:
        steps += [delta("x"), Tell(event)]
    with ChatServer([[*steps, *ended()]]) as server:
        for number, _ in enumerate(backend_at(server.url).stream(QUESTION, CancelToken())):
            if number < len(read):
                assert read[number].wait(10)


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

    sent = OpenAiProvider().build_payload("model", request, EndpointCapabilities())["messages"]

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
