import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernel.agent.events import (
    AgentEvent,
    Failed,
    Finished,
    Reminded,
    RoundBegun,
    TextPart,
    ThinkingPart,
    ToolCalled,
    ToolReturned,
)
from kernel.agent.growing import Growing
from kernel.agent.tool import Outcome
from kernel.domain.agent_message import AgentMessage
from kernel.domain.content_blocks import Redacted, Text, Thinking, ToolResult, ToolUse
from kernel.doors.uap.envelopes import ended, enveloped, opened
from kernel.doors.uap.reading import as_line, message_of
from kernel.errors import WrongParam

EXAMPLES: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "document_004.json").read_text(encoding="utf-8")
)
STORY: tuple[AgentEvent, ...] = (
    RoundBegun(1),
    ThinkingPart("用户想要"),
    ThinkingPart("查看文件..."),
    ToolCalled("call_1", "ls", {"path": "./src"}),
    ToolReturned("call_1", "ls", Outcome(success=True, text="index.ts\nutils.ts")),
    RoundBegun(2),
    TextPart("目录中包含 index.ts"),
    TextPart(" 和 utils.ts。"),
    Finished("目录中包含 index.ts 和 utils.ts。"),
)


def told(*events: AgentEvent | None, partial: bool = False) -> Iterator[AgentMessage]:
    seconds = iter(range(1000))
    growing = Growing(partial=partial, clock=lambda: float(next(seconds)))
    for event in events:
        yield from growing.messages(event)


def test_the_story_of_the_document_is_told_to_the_letter() -> None:
    assert [message.as_json() for message in told(*STORY)] == list(EXAMPLES.values())


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_an_example_is_read_and_written_alike(name: str) -> None:
    assert message_of(EXAMPLES[name]).as_json() == EXAMPLES[name]
    assert json.loads(as_line(message_of(EXAMPLES[name]))) == EXAMPLES[name]


def test_messages_grow_under_one_id_until_they_are_complete() -> None:
    messages = list(told(*STORY, partial=True))
    last = [message for message in messages if message.meta.get("id") == "message_2"]
    assert [message.meta["complete"] for message in last] == [False, False, True]
    assert [message.content for message in last] == [
        (Text("目录中包含 index.ts"),),
        (Text("目录中包含 index.ts 和 utils.ts。"),),
        (Text("目录中包含 index.ts 和 utils.ts。"),),
    ]


def test_growth_is_told_at_most_every_300_milliseconds_and_never_lost() -> None:
    now = [0.0]
    growing = Growing(clock=lambda: now[0])
    shown = []
    for millisecond in range(1000):
        now[0] = millisecond / 1000
        shown += list(growing.messages(TextPart("a")))
    assert len(shown) == 4
    now[0] += 1.0
    [late] = growing.messages(None)
    assert late.content == (Text("a" * 1000),)
    assert list(growing.messages(None)) == []


def test_a_failed_tool_and_a_failed_agent_are_errors() -> None:
    returned = ToolReturned("1", "ls", Outcome(success=False, text="no"))
    result, failure = told(ToolReturned("1", "ls", returned.outcome), Failed("why"))
    assert result.content == (ToolResult("1", "no", is_error=True),)
    assert failure.as_json() == {
        "role": "assistant",
        "content": [{"type": "text", "text": "why"}],
        "meta": {"is_error": True},
    }


def test_a_reminder_is_said_in_the_persons_place() -> None:
    assert list(told(TextPart("Done."), Reminded("Not yet."))) == [
        AgentMessage("assistant", (Text("Done."),)),
        AgentMessage("user", (Text("Not yet."),)),
    ]


def test_an_answer_that_was_not_streamed_is_told_too() -> None:
    assert list(told(Finished("yes"))) == [AgentMessage("assistant", (Text("yes"),))]


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
    message = message_of({"role": "agent", "content": [*content, {"type": "hologram"}]})
    assert message.content == (
        Text("a"),
        Thinking("b", "s"),
        Redacted("xyz"),
        ToolUse("1", "ls", {}),
        ToolResult("1", (Text("x"), Text("y")), is_error=True),
    )
    assert message.as_json()["content"] == content
    assert isinstance(message.content[4], ToolResult)
    assert message.content[4].text == "x\ny"


def test_an_envelope_is_opened_and_closed_again() -> None:
    plain = message_of(EXAMPLES["thinks_and_calls"])
    wrapped = enveloped(plain)
    assert wrapped["content"]["data"]["type"] == "assistant"
    assert opened(wrapped) == opened(EXAMPLES["thinks_and_calls"]) == plain
    assert opened(enveloped(message_of(EXAMPLES["result"]))) == message_of(EXAMPLES["result"])


def test_the_end_of_a_turn_is_told_in_an_envelope() -> None:
    assert opened(ended("done")).content == (Text("done"),)
    assert opened(ended("done")).meta == {"ends": True}
    assert opened(ended("why", is_error=True)).meta == {"ends": True, "is_error": True}
    summary = {"type": "output", "data": {"type": "summary", "summary": "short"}}
    assert opened({"role": "agent", "content": summary}).content == (Text("short"),)


def test_an_event_has_no_blocks() -> None:
    event = {"role": "agent", "content": {"type": "event", "data": {"type": "ready"}}}
    assert opened(event) == AgentMessage("agent", (), {"event": {"type": "ready"}})


def test_a_text_instead_of_blocks_is_one_block() -> None:
    assert message_of({"role": "user", "content": "hi"}).content == (Text("hi"),)


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
        opened(value)
