"""The events of an agent as the frames of document 000's service."""

import json
from typing import Any

from codekernel.adapters.kode.stream import (
    StreamedEvent,
    encode_server_sent_event,
    stream_messages,
)
from codekernel.domain.turn_events import (
    AgentCallsQueued,
    AgentFinished,
    AgentSessionOpened,
    AgentTextDelta,
    AgentThinkingDelta,
    AgentToolReturned,
    AgentToolUsed,
    LoopEvent,
    RoundStarted,
    TurnFailed,
    TurnReminded,
)
from codekernel.errors import KernelError


def stream(*events: LoopEvent) -> list[dict[str, Any]]:
    return list(stream_messages(events, "demo", heartbeat_seconds=60.0))


def kinds(messages: list[dict[str, Any]]) -> list[str]:
    return [message["type"] for message in messages]


def without(message: dict[str, Any], *fields: str) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name not in fields}


def test_an_agents_events_are_streamed_in_order() -> None:
    messages = stream(
        RoundStarted(1),
        AgentThinkingDelta("hm"),
        AgentTextDelta("I will "),
        AgentTextDelta("look."),
        AgentToolUsed("t1", "Edit", {"file_path": "a"}),
        AgentToolReturned("t1", "Edited a.", success=True, name="Edit", data={"filePath": "/a"}),
        TurnReminded("go on"),
        RoundStarted(2),
        AgentToolUsed("t2", "MultiEdit", {}),
        AgentToolReturned(
            "t2", "Error in edit 1: String not found: x...", success=False, name="MultiEdit"
        ),
        RoundStarted(3),
        AgentTextDelta("Done."),
        AgentFinished("Done."),
    )
    assert [without(message, "timestamp", "uuid", "metadata") for message in messages] == [
        {"type": "start", "model": "demo"},
        {"type": "text", "content": "I will look."},
        {"type": "tool_use", "tool": "Edit", "input": {"file_path": "a"}, "id": "t1"},
        {
            "type": "backend_only",
            "tool_name": "Edit",
            "tool_use_id": "t1",
            "data": {"filePath": "/a"},
        },
        {"type": "tool_result", "tool_use_id": "t1", "result": "Edited a."},
        {"type": "tool_use", "tool": "MultiEdit", "input": {}, "id": "t2"},
        {
            "type": "backend_only",
            "tool_name": "MultiEdit",
            "tool_use_id": "t2",
            "data": "Error in edit 1: String not found: x...",
        },
        {
            "type": "tool_result",
            "tool_use_id": "t2",
            "result": "Error in edit 1: String not found: x...",
            "is_error": True,
        },
        {"type": "text", "content": "Done."},
        {"type": "done"},
    ]
    assert messages[-1]["metadata"]["model"] == "demo"
    assert all(message["timestamp"] > 1e12 for message in messages[:-1])


def test_an_answer_that_was_not_streamed_is_sent_once() -> None:
    assert kinds(stream(RoundStarted(1), AgentFinished("All of it."))) == ["start", "text", "done"]


def test_a_failure_ends_the_stream_after_the_words_that_came() -> None:
    messages = stream(AgentTextDelta("half"), TurnFailed(KernelError.code, "The model is away."))
    assert kinds(messages) == ["start", "text", "error"]
    assert messages[-1]["error"] == "INTERNAL_ERROR"
    assert messages[-1]["message"] == "The model is away."


def test_all_calls_of_an_answer_are_told_before_the_first_result() -> None:
    first, second, third = (AgentToolUsed(f"t{n}", "Edit", {"n": n}) for n in range(3))
    done = [AgentToolReturned(f"t{n}", "ok", success=True, name="Edit") for n in range(3)]
    messages = stream(
        AgentTextDelta("All."),
        first,
        AgentCallsQueued((second, third)),
        done[0],
        second,
        done[1],
        third,
        done[2],
        AgentFinished("x"),
    )
    ids = [message.get("id", message.get("tool_use_id")) for message in messages]
    assert [each for each in ids if each] == ["t0", "t1", "t2", "t0", "t0", "t1", "t1", "t2", "t2"]
    assert kinds(messages) == [
        "start", "text", *["tool_use"] * 3, *["backend_only", "tool_result"] * 3, "text", "done",
    ]  # fmt: skip


def test_texts_with_a_thought_between_them_are_joined_by_a_newline() -> None:
    messages = stream(
        AgentTextDelta("a"),
        AgentTextDelta("b"),
        AgentThinkingDelta("hm"),
        AgentTextDelta("c"),
        AgentFinished("abc"),
    )
    assert messages[1]["content"] == "ab\nc"


def test_the_session_is_named_at_the_start_and_at_the_end() -> None:
    events: list[StreamedEvent] = [AgentSessionOpened("0123abcd"), AgentFinished("ok")]
    start, _, done = stream_messages(events, "demo", is_new_session=False)
    assert (start["agentId"], start["isNewSession"]) == ("0123abcd", False)
    assert done["metadata"]["agentId"] == "0123abcd"


def test_nothing_is_sent_before_the_start() -> None:
    events: list[StreamedEvent] = [None, None, TurnFailed(KernelError.code, "away")]
    assert kinds(list(stream_messages(events, "demo", heartbeat_seconds=0))) == ["start", "error"]


def test_heartbeats_are_counted_from_the_start_to_the_end() -> None:
    events: list[StreamedEvent] = [
        RoundStarted(1),
        None,
        AgentTextDelta("a"),
        None,
        AgentFinished("a"),
        None,
    ]
    messages = list(stream_messages(events, "demo", heartbeat_seconds=0))
    beats = [message for message in messages if message["type"] == "heartbeat"]
    assert [without(beat, "timestamp") for beat in beats] == [
        {"type": "heartbeat", "message": "processing", "count": count} for count in (1, 2, 3)
    ]
    assert messages[-1]["type"] == "done"


def test_over_http_a_message_is_one_event() -> None:
    event = encode_server_sent_event({"type": "text", "content": "a\nb é"})
    assert event.startswith(b"data: {")
    assert event.endswith(b"}\n\n")
    assert event.count(b"\n") == 2
    assert json.loads(event.removeprefix(b"data: "))["content"] == "a\nb é"
