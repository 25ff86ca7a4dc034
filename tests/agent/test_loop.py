import json
import os
import threading
from collections.abc import Generator
from pathlib import Path

import pytest
from codekernel.agent.loop import STOPPED_MESSAGE
from codekernel.agent.system_prompt import build_tool_specs, is_unambiguous_tool_name
from codekernel.agent.tool import ToolContext
from codekernel.agent.tools.toolsets import build_agent_tools, build_all_tools
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
from codekernel.errors import KernelError
from support.agents import SKIP, agent, list_results, run, sent_messages
from support.chat_server import (
    ChatServer,
    SetEvent,
    Step,
    WaitForDisconnect,
    delta,
    end_reply,
    reply_calls,
    reply_error,
    reply_text,
)


def kinds(events: list[LoopEvent]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_calls_are_done_in_order_and_their_results_go_back(
    repo: Path, context: ToolContext
) -> None:
    script = [
        reply_calls(
            SKIP,
            ("create_file", {"path": "a.txt", "content": "one\n"}),
            ("read_file", {"path": "a.txt"}),
        ),
        reply_text("Done", "."),
    ]
    with ChatServer(script) as server, agent(server, context) as loop:
        events = run(loop)
        messages = sent_messages(server, 2)
    assert kinds(events) == [
        "RoundStarted", "AgentToolUsed", "AgentCallsQueued", "AgentToolReturned", "AgentToolUsed",
        "AgentToolReturned", "AgentToolUsed", "AgentToolReturned", "RoundStarted",
        "AgentTextDelta", "AgentTextDelta", "AgentFinished",
    ]  # fmt: skip
    assert events[-1] == AgentFinished("Done.")
    assert list_results(events)[2] == ("read_file", True, "one\n")
    assert (repo / "a.txt").read_bytes() == b"one\n"
    assert [message["role"] for message in messages] == [
        "system", "user", "assistant", "tool", "tool", "tool",
    ]  # fmt: skip
    assert messages[5]["content"] == "one\n"
    assert messages[5]["tool_call_id"] == messages[2]["tool_calls"][2]["id"]


def test_no_tool_is_used_before_a_plan_is_decided_on(repo: Path, context: ToolContext) -> None:
    script = [
        reply_calls(("create_file", {"path": "a", "content": ""}), SKIP, ("mkdir", {"path": "b"})),
        reply_text("ok"),
    ]
    with ChatServer(script) as server, agent(server, context) as loop:
        blocked, skipped, made = list_results(run(loop))
    assert blocked[2].startswith("BLOCKED: You must make a plan decision first")
    assert (blocked[1], skipped[1], made[1]) == (False, True, True)
    assert not (repo / "a").exists()
    assert (repo / "b").is_dir()


def test_where_no_plan_is_required_a_model_works_without_one(
    repo: Path, context: ToolContext
) -> None:
    script = [reply_calls(("mkdir", {"path": "b"})), reply_text("ok")]
    with ChatServer(script) as server, agent(server, context, requires_plan=False) as loop:
        (made,) = list_results(run(loop))
        system = sent_messages(server, 1)[0]["content"]
    assert made[1]
    assert (repo / "b").is_dir()
    assert "A simple task needs no plan" in system
    assert "Before any other tool" not in system


def test_a_model_that_ends_with_open_tasks_is_reminded_and_asked_again(
    context: ToolContext,
) -> None:
    tasks = [{"id": 1, "desc": "Read configuration file"}, {"id": 2, "desc": "Update settings"}]
    script = [
        reply_calls(
            ("plan", {"action": "create", "tasks": tasks}),
            ("plan", {"action": "update", "task_id": 2, "status": "in_progress"}),
        ),
        reply_text("All done."),
        reply_calls(
            *(("plan", {"action": "update", "task_id": n, "status": "completed"}) for n in (1, 2))
        ),
        reply_text("Really done."),
    ]
    with ChatServer(script) as server, agent(server, context) as loop:
        events = run(loop)
        reminded = sent_messages(server, 3)[-1]
    [reminder] = [event for event in events if isinstance(event, TurnReminded)]
    assert reminder.text == (
        "WARNING: 2 task(s) still incomplete:\n"
        "  [1] pending      - Read configuration file\n"
        "  [2] in_progress  - Update settings"
    )
    assert reminded["role"] == "user"
    assert reminder.text in reminded["content"]
    assert events[-1] == AgentFinished("Really done.")


def test_reminders_end_when_a_model_only_repeats_itself(context: ToolContext) -> None:
    script = [reply_calls(("plan", {"action": "create", "tasks": ["one"]})), reply_text("Done.")]
    with ChatServer(script) as server, agent(server, context) as loop:
        events = run(loop)
    assert kinds(events).count("TurnReminded") == 3
    assert events[-1] == AgentFinished("Done.")


def test_an_answer_at_once_is_not_reminded_of_an_earlier_plan(context: ToolContext) -> None:
    with ChatServer([reply_text("Hello.")]) as server, agent(server, context) as loop:
        context.plan.create([])
        assert kinds(run(loop)) == ["RoundStarted", "AgentTextDelta", "AgentFinished"]


def test_the_number_of_rounds_is_limited(context: ToolContext) -> None:
    with ChatServer([reply_calls(SKIP)]) as server, agent(server, context, max_rounds=3) as loop:
        events = run(loop)
        assert len(server.received) == 3
    assert isinstance(events[-1], TurnFailed)
    assert "all its 3 rounds" in events[-1].message
    assert loop.transcript.messages[-1].tool_call_id


def test_thinking_and_text_are_streamed(context: ToolContext) -> None:
    script = [[delta(reasoning_content="Hm."), delta("He"), delta("llo"), *end_reply()]]
    with ChatServer(script) as server, agent(server, context) as loop:
        events = run(loop)
    assert events == [
        RoundStarted(1), AgentThinkingDelta("Hm."), AgentTextDelta("He"), AgentTextDelta("llo"),
        AgentFinished("Hello"),
    ]  # fmt: skip


def test_a_hanging_model_is_left_when_the_agent_is_stopped(context: ToolContext) -> None:
    begun, cancel = threading.Event(), CancelToken()
    with (
        ChatServer([[delta("I"), SetEvent(begun), WaitForDisconnect()]]) as server,
        agent(server, context) as loop,
    ):

        def cancel_when_begun() -> None:
            begun.wait(60)
            cancel.cancel()

        threading.Thread(target=cancel_when_begun).start()
        events = run(loop, cancel=cancel)
        assert server.received[0].hung_up.wait(60)
    assert events[-1] == TurnFailed(KernelError.code, STOPPED_MESSAGE)


@pytest.mark.skipif(os.name == "nt", reason="named pipes")
def test_a_running_command_is_ended_when_the_agent_is_stopped(
    repo: Path, context: ToolContext
) -> None:
    cancel = CancelToken()
    os.mkfifo(repo / "held")

    def stop() -> None:
        with (repo / "held").open("rb") as held:  # once the command has begun
            cancel.cancel()
            held.read()  # until nothing of it is left

    stopping = threading.Thread(target=stop)
    stopping.start()
    command = ("run_command", {"command": "exec 3>held; sleep 600"})
    with ChatServer([reply_calls(SKIP, command)]) as server, agent(server, context) as loop:
        events = run(loop, cancel=cancel)
    assert events[-1] == TurnFailed(KernelError.code, STOPPED_MESSAGE)
    stopping.join(60)
    assert not stopping.is_alive()
    # Every call has an answer, so that the session can go on.
    calls = {call.id for message in loop.transcript.messages for call in message.tool_calls}
    answers = {message.tool_call_id for message in loop.transcript.messages} - {""}
    assert calls == answers


def test_a_reader_that_leaves_lets_the_transcript_be_saved_complete(context: ToolContext) -> None:
    kept: list[int] = []
    with ChatServer([reply_calls(SKIP, SKIP)]) as server, agent(server, context) as loop:
        loop.save = lambda: kept.append(len(loop.transcript.messages))
        events = iter(loop.run("go", CancelToken()))
        while not isinstance(next(events), AgentToolReturned):
            pass
        assert isinstance(events, Generator)
        events.close()
    assert kept == [1, 4]


def test_the_error_of_the_endpoint_is_the_last_event(context: ToolContext) -> None:
    with ChatServer([reply_error(401, "invalid key")]) as server, agent(server, context) as loop:
        events = run(loop)
    assert isinstance(events[-1], TurnFailed)
    assert "key" in events[-1].message


def test_a_model_without_an_answer_has_failed(context: ToolContext) -> None:
    with ChatServer([reply_text("")]) as server, agent(server, context) as loop:
        events = run(loop)
    assert isinstance(events[-1], TurnFailed)
    assert "ended without an answer" in events[-1].message


@pytest.mark.parametrize("arguments", ['{"path": ', "[]", '{"path": 3}', ""])
def test_broken_arguments_are_reported_to_the_model(context: ToolContext, arguments: str) -> None:
    script = [reply_calls(SKIP, ("read_file", arguments)), reply_text("ok")]
    with ChatServer(script) as server, agent(server, context) as loop:
        events = run(loop)
        answer = sent_messages(server, 2)[-1]["content"]
    assert events[-1] == AgentFinished("ok")
    assert answer.startswith("Wrong arguments.")


def test_a_tool_that_is_not_there_is_a_failed_call(context: ToolContext) -> None:
    registry = build_agent_tools().select(["plan", "read_file"])
    script = [reply_calls(SKIP, ("run_command", {"command": "ls"})), reply_text("ok")]
    with ChatServer(script) as server, agent(server, context, registry) as loop:
        events = run(loop)
    assert list_results(events)[1][1:] == (
        False, "There is no tool run_command. Tools: plan, read_file.",
    )  # fmt: skip


def test_calls_of_the_same_id_get_distinct_ids(context: ToolContext) -> None:
    script = [reply_calls(SKIP), reply_calls(SKIP), reply_text("ok")]
    with ChatServer(script) as server, agent(server, context) as loop:
        events = run(loop)
        messages = sent_messages(server, 3)
    ids = [event.id for event in events if isinstance(event, AgentToolUsed)]
    assert len(set(ids)) == 2
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == ids


def test_a_call_that_was_written_into_the_text_counts_too(context: ToolContext) -> None:
    written = '<tool_call>\n{"name": "plan", "arguments": {"action": "skip"}}\n</tool_call>'
    quoted = "A fence is written as:\n```tool\n{...}\n```"
    with (
        ChatServer([reply_text(written), reply_text(quoted)]) as server,
        agent(server, context) as loop,
    ):
        events = run(loop)
    assert list_results(events) == [("plan", True, "Planning skipped.")]
    assert events[-1] == AgentFinished(quoted)


def test_secrets_are_masked_for_the_model_and_shown_to_the_user(
    repo: Path, context: ToolContext
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    (repo / "env").write_text(f"TOKEN={secret}\nPORT=1\n")
    overwriting = {"path": "env", "mode": "overwrite", "content": "TOKEN=[masked: GitHub token]\n"}
    script = [
        reply_calls(SKIP, ("read_file", {"path": "env"})),
        reply_calls(("edit_file", overwriting)),
        reply_text("ok"),
    ]
    with ChatServer(script) as server, agent(server, context) as loop:
        events = run(loop)
        assert all(secret.encode() not in request.body for request in server.received)
        assert "[masked: GitHub token]" in sent_messages(server, 2)[-1]["content"]
    assert secret in list_results(events)[1][2]
    refused_edit = list_results(events)[2]
    assert refused_edit[1] is False
    assert "destroy the secret" in refused_edit[2]
    assert secret in (repo / "env").read_text()


def test_old_results_are_shortened_when_the_window_is_full(
    repo: Path, context: ToolContext
) -> None:
    (repo / "big.txt").write_text("words and more words\n" * 800)
    reading = ("read_file", {"path": "big.txt"})
    script = [reply_calls(SKIP), *([reply_calls(reading)] * 6), reply_text("ok")]
    with ChatServer(script) as server, agent(server, context, context_tokens=16_000) as loop:
        events = run(loop)
        results = [m["content"] for m in sent_messages(server, 8) if m["role"] == "tool"]
        sizes = [len(request.body) for request in server.received]
    assert events[-1] == AgentFinished("ok")
    assert "[shortened:" in results[1]
    assert "[shortened:" not in results[-1]
    assert max(sizes) < 16_000 * 4


def test_a_smaller_window_than_assumed_is_learnt(repo: Path, context: ToolContext) -> None:
    (repo / "big.txt").write_text("words and more words\n" * 500)
    too_long = reply_error(400, "maximum context length is 8192 tokens, you requested 30000")
    script = [reply_calls(SKIP, ("read_file", {"path": "big.txt"})), too_long, reply_text("ok")]
    with ChatServer(script) as server, agent(server, context) as loop:
        events = run(loop)
        assert len(server.received[2].body) < len(server.received[1].body)
    assert events[-1] == AgentFinished("ok")


def test_the_rules_name_only_the_tools_there_are(context: ToolContext) -> None:
    registry = build_agent_tools().select(["plan", "read_file"])
    with ChatServer([reply_text("ok")]) as server, agent(server, context, registry) as loop:
        run(loop)
        request = server.received[0].json
    whole = json.dumps(request)
    for name in set(build_agent_tools().names) - {"plan", "read_file", "search"}:
        assert name not in whole
    assert "run shell commands" in request["messages"][0]["content"]
    assert "change files" in request["messages"][0]["content"]


def test_a_description_of_a_tool_names_no_tool_that_is_not_there() -> None:
    everything = build_all_tools()
    for name in everything.names:
        for spec in build_tool_specs(everything.select([name]), everything.names):
            others = [it for it in everything.names if it != name and is_unambiguous_tool_name(it)]
            text = json.dumps([spec.description, spec.parameters])
            assert [other for other in others if other in text] == []
            assert spec.description
    assert build_tool_specs(everything, everything.names) == everything.build_specs()


REFUSED = reply_error(400, "scripted-1 does not support tools")


def fence(name: str, **arguments: object) -> str:
    return f"```tool\n{json.dumps({'name': name, 'arguments': arguments})}\n```\n"


def test_calls_in_fences_are_done_and_answered_with_messages(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.txt").write_text("one\n")
    script = [
        REFUSED,
        reply_text("I look.\n", fence("plan", action="skip"), fence("read_file", path="a.txt")),
        reply_text("It says one."),
    ]
    with ChatServer(script) as server, agent(server, context) as loop:
        events = run(loop)
        first, second = sent_messages(server, 2), sent_messages(server, 3)
    assert "```tool" in first[0]["content"]
    assert '"start_line"' in first[0]["content"]
    assert "tools" not in server.received[1].json
    assert [name for name, *_ in list_results(events)] == ["plan", "read_file"]
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
        reply_text("Thought: simple\nAction: plan\nAction In", 'put: {"action": "skip"}'),
        reply_text("思考: 读\n", '执行: read_file(path="a.txt")'),
        reply_text("Thought: I know.\nFinal Answer: It says one."),
    ]
    with ChatServer(script) as server, agent(server, context) as loop:
        events = run(loop)
    assert list_results(events)[1] == ("read_file", True, "one\n")
    thoughts = "".join(event.text for event in events if isinstance(event, AgentThinkingDelta))
    assert thoughts == "simple读I know."
    assert (
        "".join(event.text for event in events if isinstance(event, AgentTextDelta))
        == "It says one."
    )
    assert events[-1] == AgentFinished("It says one.")


def test_blocks_of_one_reply_are_paragraphs(context: ToolContext) -> None:
    written_reply = "Thought: a\n\nOne.\nThought: b\n\nTwo."
    with (
        ChatServer([REFUSED, reply_text(*written_reply)]) as server,
        agent(server, context) as loop,
    ):
        events = run(loop)
    thoughts = "".join(event.text for event in events if isinstance(event, AgentThinkingDelta))
    assert thoughts == "a\n\nb"
    assert events[-1] == AgentFinished("One.\n\nTwo.")


def test_a_model_that_invents_a_result_is_cut_off(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_text("real\n")
    inventing: list[Step] = [
        delta('Action: plan {"action": "skip"}\nObservation: fine\nFinal Answer: invented'),
        WaitForDisconnect(),
    ]
    script = [
        REFUSED,
        inventing,
        reply_text('Action: read_file {"path": "a.txt"}'),
        reply_text("real"),
    ]
    with ChatServer(script) as server, agent(server, context) as loop:
        events = run(loop)
        assert server.received[1].hung_up.wait(60)
    assert not any(
        "invented" in event.text for event in events if isinstance(event, AgentTextDelta)
    )
    assert events[-1] == AgentFinished("real")
