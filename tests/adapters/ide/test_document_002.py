"""Every example and every table of document 002, over a real WebSocket."""

from pathlib import Path
from typing import Any

import pytest
from adapters.ide.conftest import JAVA, BackendSide

SESSION = "83742e07-..."
EXAMPLE: dict[str, Any] = {
    "type": "TOOL_CALL",
    "toolCallId": "grep_file-83742e07-1767686721056",
    "toolName": "grep_file",
    "params": {
        "pattern": "TODO",
        "projectKey": "autoloop",
        "webSocketSessionId": SESSION,
        "relativePath": "core/src/File.java",
        "regex": False,
        "case_sensitive": False,
        "context_lines": 2,
    },
    "webSocketSessionId": SESSION,
}
NAMED = {"projectKey": "autoloop", "webSocketSessionId": SESSION}


def test_the_example_of_a_call_gets_the_example_of_a_success(backend: BackendSide) -> None:
    data = backend.ask(EXAMPLE)
    assert data["toolCallId"] == "grep_file-83742e07-1767686721056"
    assert data["success"] is True
    assert data["result"].startswith("## 文件内容搜索: File.java\n\n**匹配数量**: 3\n")
    assert isinstance(data["executionTime"], int)
    assert "error" not in data


def test_the_example_of_a_failure(backend: BackendSide, project: Path) -> None:
    (project / "core" / "src" / "File.java").unlink()
    data = backend.ask(EXAMPLE)
    spent = data.pop("executionTime")
    assert data == {
        "toolCallId": "grep_file-83742e07-1767686721056",
        "success": False,
        "error": "文件不存在: core/src/File.java",
        "result": "文件不存在: core/src/File.java",  # as plugins have it
    }
    assert spent >= 0


def test_the_manual_test_with_less_than_is_required(backend: BackendSide) -> None:
    data = backend.ask(
        {
            "type": "TOOL_CALL",
            "toolCallId": "test-001",
            "toolName": "grep_file",
            "params": {"pattern": "TODO", "projectKey": "autoloop"},
        }
    )
    assert (data["toolCallId"], data["success"]) == ("test-001", True)
    assert "core/src/File.java:3" in data["result"]


def test_fields_of_a_call_inside_of_data_do_not_count(backend: BackendSide) -> None:
    inner = {name: value for name, value in EXAMPLE.items() if name != "type"}
    data = backend.ask({"type": "TOOL_CALL", "data": inner})
    assert (data["toolCallId"], data["success"]) == ("", False)
    assert data["error"] == "toolCallId 字段缺失或为空"


@pytest.mark.parametrize(
    ("change", "call_id", "field"),
    [
        ({"toolCallId": None}, "", "toolCallId"),
        ({"toolCallId": ""}, "", "toolCallId"),
        ({"toolCallId": 7}, "", "toolCallId"),
        ({"toolName": None}, EXAMPLE["toolCallId"], "toolName"),
        ({"toolName": ""}, EXAMPLE["toolCallId"], "toolName"),
        ({"params": None}, EXAMPLE["toolCallId"], "params"),
        ({"params": "pattern"}, EXAMPLE["toolCallId"], "params"),
        ({"params": {}}, EXAMPLE["toolCallId"], "pattern"),
        ({"params": {"pattern": ""}}, EXAMPLE["toolCallId"], "pattern"),
        ({"toolName": "read_file", "params": {}}, EXAMPLE["toolCallId"], "relativePath"),
        ({"toolName": "call_chain", "params": {}}, EXAMPLE["toolCallId"], "method"),
        (
            {"toolName": "apply_change", "params": {"relativePath": "a"}},
            EXAMPLE["toolCallId"],
            "replaceContent",
        ),
    ],
)
def test_a_required_field_that_is_missing_or_empty_is_named(
    backend: BackendSide, change: dict[str, Any], call_id: str, field: str
) -> None:
    data = backend.ask({**EXAMPLE, **change})
    assert (data["toolCallId"], data["success"]) == (call_id, False)
    assert data["error"] == data["result"] == f"{field} 字段缺失或为空"


def test_grep_file_with_each_of_its_parameters(backend: BackendSide) -> None:
    everywhere = backend.call("grep_file", pattern="TODO", **NAMED)["result"]
    assert "**匹配数量**: 3" in everywhere
    exact = backend.call("grep_file", pattern="TODO", case_sensitive=True, limit=1, **NAMED)
    assert "**匹配数量**: 1" in exact["result"]
    regular = backend.call("grep_file", pattern="TODO (one|three)", regex=True, **NAMED)
    assert "**匹配数量**: 2" in regular["result"]
    none = backend.call("grep_file", pattern="TODO", file_type="config", **NAMED)
    assert (none["success"], none["result"]) == (True, "未找到匹配 TODO")
    broken = backend.call("grep_file", pattern="(", regex=True, **NAMED)
    assert broken["success"] is False


def test_read_file_with_each_of_its_parameters(backend: BackendSide) -> None:
    path = {"relativePath": "core/src/File.java", **NAMED}
    whole = backend.call("read_file", **path)["result"]
    assert "**行数**: 8" in whole
    lines = backend.call("read_file", start_line=4, end_line=5, **path)["result"]
    assert "   4 |   public class File {" in lines
    assert "check() {}" not in lines
    assert backend.call("read_file", start_line=4, **path)["result"] == whole  # needs both
    around = backend.call("read_file", line=5, context_lines=1, **path)["result"]
    assert "   5 >>>     public void open()" in around
    assert "**范围**: 4-6" in around


def test_call_chain_with_each_of_its_parameters(backend: BackendSide) -> None:
    chain: dict[str, Any] = {}
    while not chain.get("success"):  # until the file has been indexed
        chain = backend.call("call_chain", method="File.check", **NAMED)
    assert "File.open (method, core/src/File.java:5-5)" in chain["result"]
    one_way = backend.call(
        "call_chain", method="File.open", direction="callees", depth=2, includeSource=True, **NAMED
    )["result"]
    assert "**Callers**" not in one_way
    assert "private void check() {}" in one_way
    assert backend.call("call_chain", method="File.none", **NAMED)["success"] is False


def test_apply_change_with_each_of_its_parameters(backend: BackendSide, project: Path) -> None:
    file = project / "core" / "src" / "File.java"
    changed = backend.call(
        "apply_change",
        relativePath="core/src/File.java",
        searchContent="private void check() {}",
        replaceContent="private void check() { count++; }",
        description="count",
        **NAMED,
    )
    assert changed["success"] is True
    assert file.read_text(encoding="utf-8") == JAVA.replace("check() {}", "check() { count++; }")
    lost = backend.call(
        "apply_change",
        relativePath="core/src/File.java",
        searchContent="not there",
        replaceContent="",
        **NAMED,
    )
    assert lost["error"] == "未找到匹配的旧内容（精确和模糊都未匹配）"  # noqa: RUF001
    made = backend.call("apply_change", relativePath="new/A.java", replaceContent="x\n", **NAMED)
    assert made["success"] is True
    assert (project / "new" / "A.java").read_text(encoding="utf-8") == "x\n"
