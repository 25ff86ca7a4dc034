"""Calls that are odd, many, slow, or about another project."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from adapters.ide.conftest import PATIENCE_SECONDS, BackendSide, connect_to, open_port
from codekernel.adapters.ide.tool_calls import (
    MAX_CONCURRENT_CALLS,
    MAX_QUEUED_CALLS,
    IdeToolExecutor,
)
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolPermission
from codekernel.agent.tools.toolsets import IDE_TOOLS


@dataclass(frozen=True)
class Nothing:
    pass


class Gate:
    """A tool that waits until the test says so, whatever its token says."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.entered = threading.Semaphore(0)

    def run(self, _: Nothing, __: ToolContext) -> ToolOutcome:
        self.entered.release()
        self.opened.wait(PATIENCE_SECONDS)
        return make_success("late")

    @property
    def tool(self) -> Tool[Any]:
        return Tool("wait", "", Nothing, ToolPermission.READS, self.run)


def make_call(number: int, tool: str, **params: object) -> dict[str, Any]:
    call_id = f"{tool}-{number}"
    return {"type": "TOOL_CALL", "toolCallId": call_id, "toolName": tool, "params": params}


def test_calls_are_carried_out_side_by_side(context: ToolContext) -> None:
    gate = Gate()
    executor = IdeToolExecutor(ToolRegistry((*IDE_TOOLS, gate.tool)), context)
    with open_port(executor) as port, connect_to(port) as backend:
        for number in range(MAX_CONCURRENT_CALLS - 1):
            backend.send(make_call(number, "wait"))
        for _ in range(MAX_CONCURRENT_CALLS - 1):
            assert gate.entered.acquire(timeout=PATIENCE_SECONDS)
        quick = backend.call("read_file", relativePath="core/src/File.java")
        assert quick["success"] is True
        gate.opened.set()
        late = {backend.receive()["toolCallId"] for _ in range(MAX_CONCURRENT_CALLS - 1)}
        assert late == {f"wait-{number}" for number in range(MAX_CONCURRENT_CALLS - 1)}


def test_a_tool_that_hangs_is_answered_in_time_and_delays_no_other_call(
    context: ToolContext,
) -> None:
    gate = Gate()
    executor = IdeToolExecutor(ToolRegistry((*IDE_TOOLS, gate.tool)), context, timeout_seconds=0.5)
    with open_port(executor) as port, connect_to(port) as backend:
        for number in range(2 * MAX_CONCURRENT_CALLS):
            backend.send(make_call(number, "wait"))
        for _ in range(2 * MAX_CONCURRENT_CALLS):
            data = backend.receive()
            assert (data["success"], data["error"]) == (False, "工具执行超时: 0.5 秒")
            assert data["executionTime"] >= 490
        assert not gate.opened.is_set()
    patient = IdeToolExecutor(ToolRegistry((*IDE_TOOLS, gate.tool)), context)
    with open_port(patient) as port, connect_to(port) as backend:
        assert backend.call("read_file", path="core/src/File.java")["success"] is True
    gate.opened.set()


def test_a_flood_of_calls_is_refused_beyond_a_limit_and_the_rest_is_done(
    context: ToolContext,
) -> None:
    gate = Gate()
    executor = IdeToolExecutor(ToolRegistry((gate.tool,)), context)
    with open_port(executor) as port, connect_to(port) as backend:
        for number in range(MAX_QUEUED_CALLS + 5):
            backend.send(make_call(number, "wait"))
        for number in range(MAX_QUEUED_CALLS, MAX_QUEUED_CALLS + 5):
            data = backend.receive()
            assert data["toolCallId"] == f"wait-{number}"
            assert data["error"].startswith("工具调用过多")
        gate.opened.set()
        assert all(backend.receive()["success"] for _ in range(MAX_QUEUED_CALLS))


def test_two_changes_of_one_file_at_the_same_time_are_both_there(
    backend: BackendSide, project: Path
) -> None:
    file = project / "list.txt"
    file.write_text("".join(f"line {number}\n" for number in range(40)), encoding="utf-8")
    for number in range(40):
        change = {"searchContent": f"line {number}", "replaceContent": f"changed {number}"}
        backend.send(make_call(number, "apply_change", relativePath="list.txt", **change))
    results = [backend.receive() for _ in range(40)]
    assert all(data["success"] for data in results), results
    assert file.read_text(encoding="utf-8") == "".join(f"changed {n}\n" for n in range(40))


@pytest.mark.parametrize("message", ["no json", "[1]", "7", "{", "[" * 100_000, b"\xff\xfe"])
def test_what_is_no_message_is_answered_without_an_id(
    backend: BackendSide, message: str | bytes
) -> None:
    data = backend.ask(message)
    assert (data["toolCallId"], data["success"]) == ("", False)
    assert data["error"] == "消息格式错误: 不是有效的 JSON 对象"


def test_other_messages_of_the_backend_are_let_pass(backend: BackendSide) -> None:
    backend.send({"type": "AGENT_RESPONSE", "content": "hello"})
    backend.send({"type": "PONG"})
    assert backend.ask({"nothing": 1})["error"] == "type 字段缺失或为空"


def test_a_tool_that_there_is_not(backend: BackendSide) -> None:
    data = backend.call("sing")
    assert data["error"] == (
        "不支持的工具: sing (可用: grep_file, read_file, call_chain, apply_change)"
    )


def test_snake_case_and_short_names_are_understood(backend: BackendSide) -> None:
    data = backend.ask(
        {
            "type": "TOOL_CALL",
            "tool_call_id": "a",
            "tool_name": "read_file",
            "params": {"relative_path": "core/src/File.java", "startLine": 1, "endLine": 1},
        }
    )
    assert data["success"] is True
    assert "   1 |   package core;" in data["result"]
    change = {"path": "b.txt", "search_content": "", "replace_content": "b"}
    assert backend.call("apply_change", **change)["success"] is True


def test_a_project_path_in_the_project_is_where_paths_begin(
    backend: BackendSide, project: Path
) -> None:
    call = make_call(1, "read_file", relativePath="src/File.java")
    assert backend.ask(call)["success"] is False
    for path in (str(project / "core"), "core"):
        assert backend.ask({**call, "projectPath": path})["success"] is True
    outside = backend.ask({**call, "projectPath": str(project.parent)})
    assert outside["error"] == f"projectPath 不在当前项目内: {project.parent}"
    assert "不存在" in backend.ask({**call, "projectPath": "none"})["error"]
    up = make_call(2, "read_file", relativePath="../../secret")
    assert "outside" in backend.ask({**up, "projectPath": "core"})["error"]


def test_a_call_about_another_project_is_refused_where_ours_has_a_name(
    context: ToolContext,
) -> None:
    executor = IdeToolExecutor(ToolRegistry(IDE_TOOLS), context, project_key="autoloop")
    path = {"relativePath": "core/src/File.java"}
    with open_port(executor) as port, connect_to(port) as backend:
        assert backend.call("read_file", projectKey="autoloop", **path)["success"] is True
        assert backend.call("read_file", **path)["success"] is True
        other = backend.call("read_file", projectKey="other", **path)
        assert other["error"] == "projectKey 不匹配: other (当前项目: autoloop)"
