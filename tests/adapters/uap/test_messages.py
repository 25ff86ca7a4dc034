import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.uap.messages import (
    BlockParser,
    encode_line,
    make_end_envelope,
    parse_blocks,
    unwrap_envelope,
    wrap_in_envelope,
)
from codekernel.agent.agent_thread import AgentMessageStream
from codekernel.domain.chat import (
    AgentMessage,
    RedactedContent,
    TextContent,
    ThinkingContent,
    ToolResultContent,
    ToolUseContent,
    parse_message,
)
from codekernel.domain.turn_events import (
    AgentFinished,
    AgentTextDelta,
    AgentThinkingDelta,
    AgentToolReturned,
    AgentToolUsed,
    LoopEvent,
    RoundStarted,
    TurnFailed,
    TurnReminded,
)
from codekernel.errors import KernelError, WrongParam
from hypothesis import given
from hypothesis import strategies as st

EXAMPLES: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "document_004.json").read_text(encoding="utf-8")
)
EVENTS: tuple[LoopEvent, ...] = (
    RoundStarted(1),
    AgentThinkingDelta("用户想要"),
    AgentThinkingDelta("查看文件..."),
    AgentToolUsed("call_1", "ls", {"path": "./src"}),
    AgentToolReturned("call_1", "index.ts\nutils.ts", success=True, name="ls"),
    RoundStarted(2),
    AgentTextDelta("目录中包含 index.ts"),
    AgentTextDelta(" 和 utils.ts。"),
    AgentFinished("目录中包含 index.ts 和 utils.ts。"),
)


def stream(*events: LoopEvent | None, partial: bool = False) -> Iterator[AgentMessage]:
    seconds = iter(range(1000))
    growing = AgentMessageStream(partial=partial, clock=lambda: float(next(seconds)))
    for event in events:
        yield from growing.feed(event)


def test_the_example_of_the_document_is_reproduced_to_the_letter() -> None:
    assert [message.to_json() for message in stream(*EVENTS)] == list(EXAMPLES.values())


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_an_example_is_read_and_written_alike(name: str) -> None:
    assert parse_message(EXAMPLES[name]).to_json() == EXAMPLES[name]
    assert json.loads(encode_line(parse_message(EXAMPLES[name]))) == EXAMPLES[name]


def test_messages_grow_under_one_id_until_they_are_complete() -> None:
    messages = list(stream(*EVENTS, partial=True))
    last = [message for message in messages if message.meta.get("id") == "message_2"]
    assert [message.meta["complete"] for message in last] == [False, False, True]
    assert [message.content for message in last] == [
        (TextContent("目录中包含 index.ts"),),
        (TextContent("目录中包含 index.ts 和 utils.ts。"),),
        (TextContent("目录中包含 index.ts 和 utils.ts。"),),
    ]


def test_growth_is_sent_at_most_every_300_milliseconds_and_never_lost() -> None:
    now = [0.0]
    growing = AgentMessageStream(clock=lambda: now[0])
    shown = []
    for millisecond in range(1000):
        now[0] = millisecond / 1000
        shown += list(growing.feed(AgentTextDelta("a")))
    assert len(shown) == 4
    now[0] += 1.0
    [late] = growing.feed(None)
    assert late.content == (TextContent("a" * 1000),)
    assert list(growing.feed(None)) == []


def test_a_failed_tool_and_a_failed_agent_are_errors() -> None:
    returned = AgentToolReturned("1", "no", success=False, name="ls")
    result, failure = stream(returned, TurnFailed(KernelError.code, "why"))
    assert result.content == (ToolResultContent("1", "no", is_error=True),)
    assert failure.to_json() == {
        "role": "assistant",
        "content": [{"type": "text", "text": "why"}],
        "meta": {"is_error": True},
    }


def test_a_reminder_is_a_message_of_the_user() -> None:
    assert list(stream(AgentTextDelta("Done."), TurnReminded("Not yet."))) == [
        AgentMessage("assistant", (TextContent("Done."),)),
        AgentMessage("user", (TextContent("Not yet."),)),
    ]


def test_an_answer_that_was_not_streamed_is_sent_too() -> None:
    assert list(stream(AgentFinished("yes"))) == [AgentMessage("assistant", (TextContent("yes"),))]


def test_all_blocks_are_read() -> None:
    content = [
        {"type": "text", "text": "a"},
        {"type": "thinking", "thinking": "b", "signature": "s"},
        {"type": "redacted", "data": "xyz"},
        {"type": "tool_use", "id": "1", "name": "ls", "input": {}},
        {
            "type": "tool_result",
            "tool_use_id": "1",
            "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}],
            "is_error": True,
        },
    ]
    message = parse_message({"role": "agent", "content": [*content, {"type": "hologram"}]})
    assert message.content == (
        TextContent("a"),
        ThinkingContent("b", "s"),
        RedactedContent("xyz"),
        ToolUseContent("1", "ls", {}),
        ToolResultContent("1", (TextContent("x"), TextContent("y")), is_error=True),
    )
    assert message.to_json()["content"] == content
    assert isinstance(message.content[4], ToolResultContent)
    assert message.content[4].text == "x\ny"


def test_an_envelope_is_opened_and_closed_again() -> None:
    plain = parse_message(EXAMPLES["thinks_and_calls"])
    wrapped = wrap_in_envelope(plain)
    assert wrapped["content"]["data"]["type"] == "assistant"
    assert unwrap_envelope(wrapped) == unwrap_envelope(EXAMPLES["thinks_and_calls"]) == plain
    assert unwrap_envelope(wrap_in_envelope(parse_message(EXAMPLES["result"]))) == parse_message(
        EXAMPLES["result"]
    )


def test_the_end_of_a_turn_has_its_own_envelope() -> None:
    assert unwrap_envelope(make_end_envelope("done")).content == (TextContent("done"),)
    assert unwrap_envelope(make_end_envelope("done")).meta == {"ends": True}
    assert unwrap_envelope(make_end_envelope("why", is_error=True)).meta == {
        "ends": True,
        "is_error": True,
    }
    summary = {"type": "output", "data": {"type": "summary", "summary": "short"}}
    assert unwrap_envelope({"role": "agent", "content": summary}).content == (TextContent("short"),)


def test_an_event_has_no_blocks() -> None:
    event = {"role": "agent", "content": {"type": "event", "data": {"type": "ready"}}}
    assert unwrap_envelope(event) == AgentMessage("agent", (), {"event": {"type": "ready"}})


def test_a_text_instead_of_blocks_is_one_block() -> None:
    assert parse_message({"role": "user", "content": "hi"}).content == (TextContent("hi"),)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"role": "king", "content": []},
        {"role": "user"},
        {"role": "user", "content": [1]},
        {"role": "user", "content": [{"type": "text"}]},
        {"role": "user", "content": [{"type": "tool_use", "id": "1", "name": "a", "input": []}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": 3}]},
        {"role": "agent", "content": {"type": "output"}},
        {"role": "agent", "content": {"type": "output", "data": {"type": "song"}}},
        {"role": "agent", "content": {"type": "dance", "data": {}}},
    ],
)
def test_what_is_no_message_is_refused(value: object) -> None:
    with pytest.raises(WrongParam):
        unwrap_envelope(value)


TEXT = (
    '思考: 用户想要查看文件...\n执行: ls {"path": "./src"}\n'
    "观察: index.ts\nutils.ts\n回答: 两个文件 😀"
)
EXPECTED = (
    ThinkingContent("用户想要查看文件..."),
    ToolUseContent("call_1", "ls", {"path": "./src"}),
    ToolResultContent("call_1", "index.ts\nutils.ts"),
    TextContent("两个文件 😀"),
)


def test_unstructured_text_becomes_the_blocks_of_the_document() -> None:
    assert parse_blocks(TEXT) == EXPECTED
    assert [block.to_json() for block in EXPECTED[:2]] == EXAMPLES["thinks_and_calls"]["content"]


def test_byte_by_byte_it_is_the_same() -> None:
    parser = BlockParser()
    for byte in TEXT.encode():
        parser.feed(bytes([byte]))
    assert parser.end() == EXPECTED


@given(st.lists(st.integers(0, len(TEXT.encode())), max_size=10))
def test_cut_anywhere_between_bytes_it_is_the_same(cuts: list[int]) -> None:
    parser, whole = BlockParser(), TEXT.encode()
    bounds = [0, *sorted(cuts), len(whole)]
    for begin, end in pairwise(bounds):
        parser.feed(whole[begin:end])
    assert parser.end() == EXPECTED


@given(st.binary(max_size=200))
def test_bytes_that_are_no_text_break_nothing(content: bytes) -> None:
    whole, single = BlockParser(), BlockParser()
    whole.feed(content)
    for byte in content:
        single.feed(bytes([byte]))
    assert whole.end() == single.end()


def test_blocks_grow() -> None:
    parser = BlockParser()
    assert parser.feed("Hel")
    assert parser.blocks == (TextContent("Hel"),)
    assert not parser.feed("\n")
    assert parser.feed("lo")
    assert parser.blocks == (TextContent("Hel\nlo"),)


def test_arguments_that_are_no_json_are_kept_as_text() -> None:
    [use] = parse_blocks('```tool\n{"name": "ls", "arguments": {"path": \n```')
    assert isinstance(use, ToolUseContent)
    assert list(use.input) == ["input"]
