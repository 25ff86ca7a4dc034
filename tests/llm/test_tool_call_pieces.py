from typing import Any

import pytest
from codekernel.domain.chat import ChatToolCall
from codekernel.llm.providers.base import MAX_TOOL_CALLS, ToolCallAssembler


def assembled(*pieces: dict[str, Any]) -> tuple[ChatToolCall, ...]:
    calls = ToolCallAssembler()
    for piece in pieces:
        calls.add_delta(piece)
    return calls.build_calls()


def piece(arguments: object = None, name: str | None = None, **fields: object) -> dict[str, Any]:
    function = {} if name is None else {"name": name}
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
