import json
import threading
from collections.abc import Generator, Iterator
from typing import Any

from codekernel.adapters.kode import encode_server_sent_event, stream_messages
from codekernel.domain.concurrency import CancelToken
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
from codekernel.errors import KernelError, NetworkError

LONG = 60.0
PATIENCE_SECONDS = 60


def stream(*events: LoopEvent) -> list[dict[str, Any]]:
    return list(stream_messages(events, CancelToken(), model="demo", heartbeat_seconds=LONG))


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
        {"type": "tool_result", "tool_use_id": "t1", "result": "Edited a.", "is_error": False},
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


def test_an_agent_that_breaks_or_just_stops_ends_in_an_error() -> None:
    def broken(error: Exception) -> Iterator[LoopEvent]:
        yield RoundStarted(1)
        raise error

    ends = [
        list(stream_messages(broken(error), CancelToken(), heartbeat_seconds=LONG))[-1]["message"]
        for error in (NetworkError("No answer."), RuntimeError("a secret"))
    ]
    assert ends == ["No answer.", "The agent stopped unexpectedly (RuntimeError)."]
    assert stream()[-1]["message"] == "The agent stopped without an answer."


def test_heartbeats_are_counted_while_the_agent_is_busy() -> None:
    go_on = threading.Event()

    def slow() -> Iterator[LoopEvent]:
        assert go_on.wait(PATIENCE_SECONDS)
        yield AgentFinished("")

    messages = stream_messages(slow(), CancelToken(), heartbeat_seconds=0.01)
    assert next(messages)["type"] == "start"
    beats = [without(next(messages), "timestamp") for _ in range(3)]
    go_on.set()
    assert beats == [
        {"type": "heartbeat", "message": "processing", "count": count} for count in (1, 2, 3)
    ]
    assert [kind for kind in kinds(list(messages)) if kind != "heartbeat"] == ["done"]


def test_a_client_that_leaves_cancels_the_agent() -> None:
    cancel, ended = CancelToken(), threading.Event()

    def endless() -> Iterator[LoopEvent]:
        yield RoundStarted(1)
        yield AgentToolUsed("t", "search", {})
        assert cancel.wait(PATIENCE_SECONDS)
        ended.set()

    messages = stream_messages(endless(), cancel, heartbeat_seconds=LONG)
    assert kinds([next(messages), next(messages)]) == ["start", "tool_use"]
    assert isinstance(messages, Generator)
    messages.close()
    assert ended.wait(PATIENCE_SECONDS)


def test_over_http_a_message_is_one_event() -> None:
    event = encode_server_sent_event({"type": "text", "content": "a\nb é"})
    assert event.startswith(b"data: {")
    assert event.endswith(b"}\n\n")
    assert event.count(b"\n") == 2
    assert json.loads(event.removeprefix(b"data: "))["content"] == "a\nb é"
