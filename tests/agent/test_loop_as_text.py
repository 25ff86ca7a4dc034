"""Models that cannot be given tools: they write their calls, and read results as messages."""

import json
from pathlib import Path

from codekernel.agent.tool import ToolContext
from codekernel.domain.turn_events import AgentFinished, AgentTextDelta, AgentThinkingDelta
from support.agents import agent, returns, run, told
from support.chat_server import ChatServer, Hang, delta, refused, said

REFUSED = refused(400, "scripted-1 does not support tools")


def fence(name: str, **arguments: object) -> str:
    return f"```tool\n{json.dumps({'name': name, 'arguments': arguments})}\n```\n"


def test_calls_in_fences_are_done_and_answered_with_messages(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.txt").write_text("one\n")
    script = [
        REFUSED,
        said("I look.\n", fence("plan", action="skip"), fence("read_file", path="a.txt")),
        said("It says one."),
    ]
    with ChatServer(script) as server, agent(server, context) as loop:
        events = run(loop)
        first, second = told(server, 2), told(server, 3)
    assert "```tool" in first[0]["content"]
    assert '"start_line"' in first[0]["content"]
    assert "tools" not in server.received[1].json
    assert [name for name, *_ in returns(events)] == ["plan", "read_file"]
    assert [message["role"] for message in second] == ["system", "user", "assistant", "user"]
    assert "Result of read_file:\none" in second[3]["content"]
    assert '"name": "read_file"' in second[2]["content"]
    assert events[-1] == AgentFinished("It says one.")


def test_react_and_labels_are_understood_and_thoughts_kept_apart(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.txt").write_text("one\n")
    script = [
        REFUSED,
        said("Thought: simple\nAction: plan\nAction In", 'put: {"action": "skip"}'),
        said("思考: 读\n", '执行: read_file(path="a.txt")'),
        said("Thought: I know.\nFinal Answer: It says one."),
    ]
    with ChatServer(script) as server, agent(server, context) as loop:
        events = run(loop)
    assert returns(events)[1] == ("read_file", True, "one\n")
    thoughts = "".join(event.text for event in events if isinstance(event, AgentThinkingDelta))
    assert thoughts == "simple读I know."
    assert (
        "".join(event.text for event in events if isinstance(event, AgentTextDelta))
        == "It says one."
    )
    assert events[-1] == AgentFinished("It says one.")


def test_blocks_of_one_reply_are_paragraphs(context: ToolContext) -> None:
    spoken = "Thought: a\n\nOne.\nThought: b\n\nTwo."
    with ChatServer([REFUSED, said(*spoken)]) as server, agent(server, context) as loop:
        events = run(loop)
    thoughts = "".join(event.text for event in events if isinstance(event, AgentThinkingDelta))
    assert thoughts == "a\n\nb"
    assert events[-1] == AgentFinished("One.\n\nTwo.")


def test_a_model_that_invents_a_result_is_not_listened_to(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_text("real\n")
    inventing = [
        delta('Action: plan {"action": "skip"}\nObservation: fine\nFinal Answer: invented'),
        Hang(),
    ]
    script = [REFUSED, inventing, said('Action: read_file {"path": "a.txt"}'), said("real")]
    with ChatServer(script) as server, agent(server, context) as loop:
        events = run(loop)
        assert server.received[1].hung_up.wait(10)
    assert not any(
        "invented" in event.text for event in events if isinstance(event, AgentTextDelta)
    )
    assert events[-1] == AgentFinished("real")
