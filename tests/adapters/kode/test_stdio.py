import json
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.kode.event_messages import encode_line
from codekernel.adapters.kode.stdio_server import answer_lines
from codekernel.agent.tool import ToolContext
from codekernel.agent.tools.toolsets import build_kode_tools
from codekernel.transport.lines import Line, OversizedLine


def line(tool: str, **given: Any) -> bytes:
    return json.dumps({"tool_name": tool, "tool_use_id": "toolu_1", "input": given}).encode()


def said(context: ToolContext, *lines: Line) -> list[dict[str, Any]]:
    return list(answer_lines(lines, build_kode_tools(), context))


def test_a_call_is_answered_by_one_message(repo: Path, context: ToolContext) -> None:
    [message] = said(context, line("Replace", file_path="a.txt", content="x"))
    assert message["data"]["type"] == "create"
    assert (repo / "a.txt").read_bytes() == b"x"


def test_other_tools_are_answered_too(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"hello\n")
    [message] = said(context, line("read_file", path="a.txt"))
    assert message["tool_name"] == "read_file"
    assert "hello" in json.dumps(message["data"])


def test_a_failure_is_told_twice(context: ToolContext) -> None:
    call = line("Edit", file_path="none.txt", old_string="a", new_string="b")
    told, result = said(context, call)
    assert (told["type"], told["data"]) == ("backend_only", "File not found: none.txt")
    assert result == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "result": "File not found: none.txt",
        "is_error": True,
    }


def test_wrong_arguments_and_unknown_tools_are_failures(context: ToolContext) -> None:
    for call in (line("Edit", file_path=3), line("MultiEdit", file_path="a"), line("Sing")):
        _, result = said(context, call)
        assert result["is_error"] is True


@pytest.mark.parametrize(
    ("asked", "known_id"),
    [
        (b"{", ""),
        (b"\xff", ""),
        (b"[" * 100_000, ""),
        (b"[]", ""),
        (b"{}", ""),
        (b'{"tool_name": "Edit", "tool_use_id": 3}', ""),
        (b'{"tool_use_id": "t"}', "t"),
        (b'{"tool_name": "Edit", "tool_use_id": "t", "input": []}', "t"),
        (OversizedLine(b"{", 20_000_000), ""),
    ],
)
def test_a_line_that_is_no_call_is_told_so_and_the_next_is_answered(
    repo: Path, context: ToolContext, asked: Line, known_id: str
) -> None:
    wrong, right = said(context, asked, line("Replace", file_path="a.txt", content="x"))
    assert (wrong["type"], wrong["is_error"]) == ("tool_result", True)
    assert wrong["tool_use_id"] == known_id
    assert right["type"] == "backend_only"


def test_a_line_is_ascii_whatever_is_in_it(repo: Path, context: ToolContext) -> None:
    [message] = said(context, line("Replace", file_path="a.txt", content="é漢😀\n"))
    written = encode_line(message)
    assert written.isascii()
    assert written.count(b"\n") == 1
    assert json.loads(written) == message
