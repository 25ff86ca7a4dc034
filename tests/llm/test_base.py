from typing import Any

import pytest
from codekernel.domain.chat import ChatToolCall, ReasoningDelta, TextDelta
from codekernel.llm.providers.base import MAX_TOOL_CALLS, ReasoningSplitter, ToolCallAssembler
from llm.chatting import text_of, thought_of


def assembled(*pieces: dict[str, Any]) -> tuple[ChatToolCall, ...]:
    calls = ToolCallAssembler()
    for piece in pieces:
        calls.add_delta(piece)
    return calls.build_calls()


def piece(arguments: object = None, name: str | None = None, **fields: object) -> dict[str, Any]:
    function: dict[str, object] = {} if name is None else {"name": name}
    if arguments is not None:
        function["arguments"] = arguments
    return {"function": function, **fields}


TWO = (ChatToolCall("a", "search", '{"q": 1}'), ChatToolCall("b", "read", '{"p": 2}'))


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(
            [
                piece("", "search", index=0, id="a"),
                piece('{"q"', index=0),
                piece(": 1}", index=0),
                piece('{"p": 2', "read", index=1, id="b"),
                piece("}", index=1),
            ],
            id="as OpenAI cuts them",
        ),
        pytest.param(
            [
                piece("", "search", index=0, id="a"),
                piece("", "read", index=1, id="b"),
                piece('{"p": 2}', index=1),
                piece('{"q": 1}', index=0),
            ],
            id="one into the other",
        ),
        pytest.param(
            [
                piece('{"q": 1}', "search", index=0, id="a"),
                piece('{"p": 2}', "read", index=0, id="b"),
            ],
            id="every index 0",
        ),
        pytest.param(
            [
                piece('{"q"', "search", id="a"),
                piece(": 1}"),
                piece('{"p": 2}', "read", id="b"),
            ],
            id="no index",
        ),
        pytest.param(
            [
                piece('{"q"', "search", index=0, id="a"),
                piece(": 1}", "search", index=0, id="a"),
                piece('{"p"', "read", index=1, id="b"),
                piece(": 2}", "read", index=1, id="b"),
            ],
            id="name and id in every piece",
        ),
        pytest.param(
            [piece({"q": 1}, "search", id="a"), piece({"p": 2}, "read", id="b")],
            id="arguments as objects",
        ),
    ],
)
def test_calls_are_put_together_however_they_are_cut(pieces: list[dict[str, Any]]) -> None:
    assert assembled(*pieces) == TWO


def test_whole_calls_without_index_and_id_stay_apart_and_get_ids() -> None:
    calls = assembled(piece({"q": 1}, "search"), piece({"q": 2}, "search"))
    assert calls == (
        ChatToolCall("call_0", "search", '{"q": 1}'),
        ChatToolCall("call_1", "search", '{"q": 2}'),
    )


def test_a_call_without_arguments_has_empty_ones() -> None:
    assert assembled(piece(name="list", id="a")) == (ChatToolCall("a", "list", "{}"),)


def test_what_is_no_call_is_left_out() -> None:
    assert assembled({}, {"function": None}, {"function": "x"}, piece("{}", index=3)) == ()


def test_the_number_of_calls_is_limited() -> None:
    assert len(assembled(*(piece("{}", "x", id=str(n)) for n in range(200)))) == MAX_TOOL_CALLS


def split(*pieces: str) -> list[TextDelta | ReasoningDelta]:
    splitter = ReasoningSplitter()
    return [*(event for piece in pieces for event in splitter.feed(piece)), *splitter.finish()]


@pytest.mark.parametrize(
    ("text", "thought", "said"),
    [
        ("Hello", "", "Hello"),
        ("<think>Hm.</think>Hello", "Hm.", "Hello"),
        ("\n<think>\nHm.\n</think>\n\nHello\n", "\nHm.\n", "Hello\n"),
        ("<thinking>Hm.</thinking>Hello", "Hm.", "Hello"),
        ("<think></think>Hello", "", "Hello"),
        ("<think>a</think>\n<think>b</think>c", "ab", "c"),
        ("<think>never closed </thin", "never closed </thin", ""),
        ("<think>a < b </think>c", "a < b ", "c"),
        ("  indented", "", "  indented"),
        ("<thin air", "", "<thin air"),
        ("<", "", "<"),
        ("The tag <think>x</think> is text here", "", "The tag <think>x</think> is text here"),
        ("<think>a</think>then <think>", "a", "then <think>"),
        ("<think>a</think>  ", "a", ""),
        ("  ", "", "  "),
        ("", "", ""),
    ],
)
def test_a_thought_at_the_beginning_is_told_from_the_answer(
    text: str, thought: str, said: str
) -> None:
    for events in (split(text), split(*text)):
        assert thought_of(events) == thought
        assert text_of(events) == said


def test_nothing_but_half_a_tag_is_held_back() -> None:
    splitter = ReasoningSplitter()
    assert list(splitter.feed("<think>a</th")) == [ReasoningDelta("a")]
    assert list(splitter.feed("e")) == [ReasoningDelta("</the")]
    assert list(splitter.feed(" end</think>")) == [ReasoningDelta(" end")]
    assert list(splitter.feed("Yes")) == [TextDelta("Yes")]
    assert list(splitter.feed("<")) == [TextDelta("<")]
