from dataclasses import replace

from codekernel.adapters.chat.turns import (
    StepStatus,
    TextStep,
    ThoughtStep,
    ToolStep,
    TurnWindow,
)
from codekernel.domain.agent_sessions import Actor, AgentSessionRecord, SessionMessage
from codekernel.domain.chat import (
    AgentMessage,
    TextContent,
    ThinkingContent,
    ToolResultContent,
    ToolUseContent,
)
from support.chat_steps import build_steps

ANN = Actor("telegram-bot", "Ann")
TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


def record(last_seq: int, *, is_thinking: bool = False) -> AgentSessionRecord:
    return AgentSessionRecord(
        "s", "codekernel", "m", "/repo", "", 0, 0, 1, 1, last_seq, is_thinking=is_thinking
    )


def user(seq: int, text: str, invoked_at: int | None = None) -> SessionMessage:
    content = AgentMessage("user", (TextContent(text),))
    return SessionMessage(f"u{seq}", "s", seq, seq, content, ANN, f"l{seq}", invoked_at)


def agent(seq: int, *blocks: TextContent | ToolUseContent | ThinkingContent) -> SessionMessage:
    content = AgentMessage("assistant", blocks, {"id": f"m{seq}"})
    return SessionMessage(f"a{seq}", "s", seq, seq, content, Actor("agent"))


def says(seq: int, text: str) -> SessionMessage:
    return agent(seq, TextContent(text))


def test_a_tool_gets_the_result_with_its_id() -> None:
    asked = AgentMessage(
        "assistant",
        (
            ThinkingContent("hm"),
            ToolUseContent("1", "ls", {"path": "./src"}),
            ToolUseContent("2", "rm"),
        ),
    )
    results = AgentMessage(
        "user", (ToolResultContent("1", "index.ts"), ToolResultContent("9", "?"))
    )
    steps = build_steps([asked, results], is_finished=False)
    assert steps == (
        ThoughtStep("hm"),
        ToolStep("1", "ls", "path: ./src", StepStatus.SUCCESS, "index.ts", seconds=0.001),
        ToolStep("2", "rm", ""),
    )
    ended = build_steps([asked, results], is_finished=True)
    assert [step.status for step in ended if isinstance(step, ToolStep)] == [
        StepStatus.SUCCESS,
        StepStatus.STOPPED,
    ]


def test_secrets_are_masked_wherever_they_are() -> None:
    messages = [
        AgentMessage(
            "assistant",
            (
                TextContent(f"it is {TOKEN}"),
                ThinkingContent(f"it is {TOKEN}"),
                ToolUseContent("1", "run", {"command": f"curl -H 'Authorization: Bearer {TOKEN}'"}),
            ),
        ),
        AgentMessage("user", (ToolResultContent("1", f"{TOKEN}", diff=f"+token {TOKEN}"),)),
    ]
    shown = repr(build_steps(messages, is_finished=True))
    assert shown.count("[masked: ") == 5
    assert TOKEN not in shown


def test_long_arguments_are_cut_and_half_a_secret_is_not_shown() -> None:
    call = ToolUseContent("1", "write", {"content": "x" * 7_990 + " " + TOKEN})
    (step,) = build_steps([AgentMessage("assistant", (call,))], is_finished=False)
    assert isinstance(step, ToolStep)
    assert "ghp_" not in step.arguments
    assert len(step.arguments) <= 8_001


def test_a_message_begins_a_turn_when_the_agent_has_taken_it() -> None:
    window = TurnWindow("s", 0)
    window.put([user(1, "first", 1), says(2, "a"), user(3, "second"), says(4, "b")])
    (turn,) = window.list_turns(record(4, is_thinking=True))
    assert turn.steps == (TextStep("a"), TextStep("b"))
    assert not turn.is_finished
    window.put([user(3, "second", invoked_at=5), says(6, "c")])
    first, second = window.list_turns(record(6, is_thinking=True))
    assert (first.first_seq, second.first_seq) == (1, 3)
    assert first.is_finished
    assert second.steps == (TextStep("c"),)
    assert second.request is not None


def test_a_turn_that_began_after_the_record_was_read_is_not_finished() -> None:
    window = TurnWindow("s", 0)
    window.put([user(1, "first", 1), says(2, "a")])
    assert not window.list_turns(record(1))[0].is_finished
    assert window.list_turns(record(2))[0].is_finished


def test_a_turn_is_not_finished_because_of_a_record_from_before_its_message_was_taken() -> None:
    window = TurnWindow("s", 0)
    window.put([user(1, "first", 1), user(2, "second", invoked_at=9), says(3, "a")])
    before = replace(record(3), queued_count=1)
    assert [turn.is_finished for turn in window.list_turns(before)] == [True, False]
    assert [turn.is_finished for turn in window.list_turns(record(3))] == [True, True]


def test_only_whole_lines_of_a_growing_message_are_shown_until_it_is_complete() -> None:
    window = TurnWindow("s", 0)
    window.put([user(1, "go", 1)])
    half = AgentMessage("assistant", (TextContent(f"one\n{TOKEN[:20]}"),), {"id": "m2"})
    window.put_growing(half)
    (turn,) = window.list_turns(record(1, is_thinking=True))
    assert turn.steps == (TextStep("one\n"),)
    window.put([says(2, f"one\n{TOKEN}")])
    (turn,) = window.list_turns(record(2, is_thinking=True))
    assert turn.steps == (TextStep("one\n[masked: GitHub token]"),)


def test_what_was_shown_is_forgotten_and_a_waiting_message_is_not() -> None:
    window = TurnWindow("s", 0)
    window.put([user(1, "first", 1), says(2, "a"), user(3, "second"), says(4, "b")])
    assert window.forget_shown([1]) == 0  # the end of the turn lies behind a message that waits
    window.put([user(3, "second", invoked_at=5), says(5, "c")])
    assert window.forget_shown([1]) == 0
    assert [turn.first_seq for turn in window.list_turns(record(5))] == [1, 3]
    assert window.forget_shown([1, 3]) == 5
    assert window.list_turns(record(5)) == []


def test_a_message_that_was_taken_back_is_in_no_turn() -> None:
    window = TurnWindow("s", 0)
    window.put([user(1, "first", 1), says(2, "a"), user(3, "second")])
    window.remove(["l3"])
    assert window.forget_shown([1]) == 2
    window.put([user(4, "third", 4)])
    (turn,) = window.list_turns(record(4))
    assert turn.first_seq == 4


def test_what_is_said_after_a_shown_turn_is_a_turn_without_a_request() -> None:
    window = TurnWindow("s", 2)
    window.put([says(3, "interrupted")])
    (turn,) = window.list_turns(record(3))
    assert turn.request is None
    assert turn.first_seq == 3


def test_a_turn_and_its_tools_say_how_long_they_took_and_whether_it_failed() -> None:
    window = TurnWindow("s", 0)
    result = AgentMessage("user", (ToolResultContent("1", "ok"),))
    failure = AgentMessage("assistant", (TextContent("no model"),), {"is_error": True})
    window.put(
        [
            user(1, "first", 500),
            replace(agent(2, ToolUseContent("1", "ls")), created_at=1_000),
            SessionMessage("r", "s", 3, 3_500, result, Actor("agent")),
            SessionMessage("f", "s", 4, 4_000, failure, Actor("agent")),
        ]
    )
    (turn,) = window.list_turns(record(4))
    assert turn.seconds == 3.5
    assert turn.is_failed
    assert [step.seconds for step in turn.steps if isinstance(step, ToolStep)] == [2.5]


def test_an_event_that_is_older_than_what_was_read_changes_nothing() -> None:
    window = TurnWindow("s", 0)
    window.put([user(1, "first", 1), says(2, "a")])
    window.put([user(1, "first")])
    (turn,) = window.list_turns(record(2, is_thinking=True))
    assert turn.first_seq == 1
    assert turn.steps == (TextStep("a"),)
