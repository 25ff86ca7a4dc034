"""Every example of document 001, replayed; docs/protocols.md says where and why we differ."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.tricode import TricodeLines, encode_line
from codekernel.agent.tool import ToolContext
from codekernel.agent.tools.toolsets import TRICODE_TOOLS, build_agent_tools
from codekernel.domain.turn_events import (
    AgentFinished,
    AgentToolReturned,
    AgentToolUsed,
    LoopEvent,
    RoundStarted,
    TurnReminded,
)
from support.agents import agent, run
from support.chat_server import ChatServer, reply_calls, reply_text

EXAMPLES: Mapping[str, Any] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "document_001.json").read_text(encoding="utf-8")
)
SKIP = ("plan", {"action": "skip"})


def build_messages(*events: LoopEvent) -> list[dict[str, Any]]:
    lines = TricodeLines()
    return [message for event in events for message in lines.build_messages(event)]


def test_a_system_message() -> None:
    (started,) = TricodeLines().format_greeting("2bc53e39", resumed=False, unknown=())
    (resumed,) = TricodeLines().format_greeting("2bc53e39", resumed=True, unknown=())
    assert json.loads(started) == EXAMPLES["system"]
    assert json.loads(resumed) == {"type": "system", "message": "Resumed session 2bc53e39"}


def test_a_round() -> None:
    assert build_messages(RoundStarted(1)) == [EXAMPLES["round"]]


def test_a_tool_call_and_its_result() -> None:
    call, result = EXAMPLES["tool_call"], EXAMPLES["tool_result"]
    text = "#!/usr/bin/env python\n\nimport argparse..." + "\n" * 45
    called_once = AgentToolUsed("1", call["name"], call["arguments"])
    returned = AgentToolReturned("1", text, success=True, name=result["name"])
    first, second = build_messages(called_once, returned)
    assert first == call
    assert second == {**result, "result": text}
    assert list(first) == list(call)
    assert list(second) == list(result)


def test_a_reminder(context: ToolContext) -> None:
    tools = build_agent_tools()
    tasks = [{"id": 1, "desc": "Read configuration file"}, {"id": 2, "desc": "Update settings"}]
    tools.call("plan", {"action": "create", "tasks": tasks}, context)
    tools.call("plan", {"action": "update", "task_id": 2, "status": "in_progress"}, context)
    reminder = context.plan.build_reminder()
    assert reminder is not None
    assert build_messages(TurnReminded(reminder)) == [EXAMPLES["reminder"]]


def test_the_final_answer() -> None:
    assert build_messages(AgentFinished(EXAMPLES["final"]["content"])) == [EXAMPLES["final"]]


def test_a_line_has_the_blanks_of_the_document_and_is_no_ascii() -> None:
    line = encode_line(EXAMPLES["interaction"][5]).decode("utf-8")
    assert line.startswith(
        '{"type": "final", "content": "当前目录包含以下文件和目录\N{FULLWIDTH COLON}\\n\\n- agent/'
    )
    assert line.endswith("\n")
    assert json.loads(encode_line({"type": "final", "content": "half \ud800"}))["content"]


def test_the_whole_interaction_with_a_plan_before_it(repo: Path, context: ToolContext) -> None:
    (repo / "tricode.py").write_text("")
    answer = EXAMPLES["interaction"][5]["content"]
    script = [reply_calls(SKIP, ("list_directory", {"path": "."})), reply_text(answer)]
    with ChatServer(script) as server, agent(server, context) as loop:
        lines = [EXAMPLES["system"], *build_messages(*run(loop))]
    plan, without_plan = lines[2:4], [*lines[:2], *lines[4:]]
    assert [line["name"] for line in plan] == ["plan", "plan"]
    result = without_plan[3]
    assert result["result"].startswith("total ")
    assert result["result"].endswith(" tricode.py")
    expected = [dict(line) for line in EXAMPLES["interaction"]]
    expected[3] |= {"result": result["result"], "formatted": "[OK] 2 items"}
    assert without_plan == expected


def test_every_tool_of_the_list_is_there() -> None:
    listed = {
        "search_context", "read_file", "create_file", "edit_file", "list_directory", "run_command",
        "plan", "start_session", "send_input", "read_output", "close_session", "list_sessions",
        "delete_file", "delete_path", "mkdir",
    }  # fmt: skip
    assert listed == {tool.name for tool in TRICODE_TOOLS}


@pytest.fixture
def sources(repo: Path) -> Path:
    (repo / "tricode.py").write_text("import sys\n\n\ndef main():\n    pass\n\n\nclass Runner():\n")
    (repo / "README.md").write_text("# Old\n")
    (repo / "path" / "to" / "file_or_dir").mkdir(parents=True)
    (repo / "path" / "to" / "file_or_dir" / "inside").write_text("x")
    (repo / "path" / "to" / "file.txt").write_text("x")
    return repo


@pytest.mark.parametrize(
    ("name", "example"),
    [
        ("search_context", "search_context"),
        ("delete_file", "delete_file"),
        ("delete_path", "delete_path"),
        ("mkdir", "mkdir"),
        ("read_file", "read_file"),
        ("create_file", "create_file"),
        ("edit_file", "edit_file_overwrite"),
        ("list_directory", "list_directory"),
        ("plan", "plan_create"),
    ],
)
def test_the_arguments_of_every_tool(
    context: ToolContext, sources: Path, name: str, example: str
) -> None:
    outcome = build_agent_tools().call(name, EXAMPLES[example], context)
    assert outcome.success, outcome.text


def test_edit_file_in_patch_mode(context: ToolContext, sources: Path) -> None:
    given = {**EXAMPLES["edit_file_patch"], "precondition": {}}
    outcome = build_agent_tools().call("edit_file", given, context)
    assert outcome.success, outcome.text
    text = (sources / "tricode.py").read_text()
    assert "def main():\n    print('hi')\n" in text
    assert "class Runner():\n    def ping(self):\n        return 'pong'\n" in text


def test_read_file_with_metadata_has_the_fields_of_the_document(
    context: ToolContext, sources: Path
) -> None:
    given = {"path": "tricode.py", "with_metadata": True}
    outcome = build_agent_tools().call("read_file", given, context)
    assert set(EXAMPLES["read_file_metadata"]) <= set(json.loads(outcome.text))


def test_a_planned_task_is_updated(context: ToolContext) -> None:
    tools = build_agent_tools()
    tools.call("plan", EXAMPLES["plan_create"], context)
    assert tools.call("plan", EXAMPLES["plan_update"], context).success
    assert [str(task.status) for task in context.plan.tasks] == ["completed", "pending"]
