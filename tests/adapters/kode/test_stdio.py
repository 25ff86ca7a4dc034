"""Tool calls line by line, and files that must be read before they are written."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.kode.chat_request import ReadBeforeWrite, answer_lines
from codekernel.adapters.kode.stream import encode_line
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tool_policy import ALLOW_ALL_POLICY, READ_ONLY_POLICY
from codekernel.agent.tools.toolsets import build_kode_tools
from codekernel.transport.lines import Line, OversizedLine


def line(tool: str, **given: Any) -> bytes:
    return json.dumps({"tool_name": tool, "tool_use_id": "toolu_1", "input": given}).encode()


def answer(context: ToolContext, *lines: Line) -> list[dict[str, Any]]:
    return list(answer_lines(lines, build_kode_tools(), context))


def test_a_call_is_answered_by_one_message(repo: Path, context: ToolContext) -> None:
    [message] = answer(context, line("Replace", file_path="a.txt", content="x"))
    assert message["data"]["type"] == "create"
    assert (repo / "a.txt").read_bytes() == b"x"


def test_other_tools_are_answered_too(repo: Path, context: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"hello\n")
    [message] = answer(context, line("read_file", path="a.txt"))
    assert message["tool_name"] == "read_file"
    assert "hello" in json.dumps(message["data"])


def test_a_failure_is_reported_twice(context: ToolContext) -> None:
    call = line("Edit", file_path="none.txt", old_string="a", new_string="b")
    message, result = answer(context, call)
    assert (message["type"], message["data"]) == ("backend_only", "File not found: none.txt")
    assert result == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "result": "File not found: none.txt",
        "is_error": True,
    }


def test_wrong_arguments_and_unknown_tools_are_failures(context: ToolContext) -> None:
    for call in (line("Edit", file_path=3), line("MultiEdit", file_path="a"), line("Sing")):
        _, result = answer(context, call)
        assert result["is_error"] is True


@pytest.mark.parametrize(
    ("wrong_line", "known_id"),
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
def test_a_line_that_is_no_call_is_an_error_and_the_next_is_answered(
    repo: Path, context: ToolContext, wrong_line: Line, known_id: str
) -> None:
    wrong, right = answer(context, wrong_line, line("Replace", file_path="a.txt", content="x"))
    assert (wrong["type"], wrong["is_error"]) == ("tool_result", True)
    assert wrong["tool_use_id"] == known_id
    assert right["type"] == "backend_only"


def test_a_line_is_ascii_whatever_is_in_it(repo: Path, context: ToolContext) -> None:
    [message] = answer(context, line("Replace", file_path="a.txt", content="é漢😀\n"))
    written = encode_line(message)
    assert written.isascii()
    assert written.count(b"\n") == 1
    assert json.loads(written) == message


TOOLS = build_kode_tools()


@pytest.fixture
def careful(context: ToolContext) -> ToolContext:
    permissions = ReadBeforeWrite(ALLOW_ALL_POLICY, TOOLS, context.root, context.file_states)
    return dataclasses.replace(context, permissions=permissions)


def call(context: ToolContext, name: str, **given: Any) -> ToolOutcome:
    return TOOLS.call(name, given, context)


def test_a_file_that_was_not_read_is_not_changed(repo: Path, careful: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"a\n")
    (repo / "a.ipynb").write_bytes(b"{}")
    for outcome in (
        call(careful, "Replace", file_path="a.txt", content="b"),
        call(careful, "Edit", filePath="a.txt", old_string="a", new_string="b"),
        call(
            careful,
            "MultiEdit",
            file_path="a.txt",
            edits=[{"old_string": "a", "new_string": "b"}],
        ),
        call(careful, "NotebookEditCell", notebook_path="a.ipynb", cell_number=0),
    ):
        assert not outcome.success
        assert "has not been read yet" in outcome.text
    assert (repo / "a.txt").read_bytes() == b"a\n"


def test_a_file_that_was_read_is_changed_again_and_again(repo: Path, careful: ToolContext) -> None:
    (repo / "a.txt").write_bytes(b"a\n")
    assert call(careful, "read_file", path="a.txt").success
    assert call(careful, "Edit", file_path="a.txt", old_string="a", new_string="b").success
    assert call(careful, "Replace", file_path="a.txt", content="c\n").success


def test_a_file_that_others_have_changed_must_be_read_again(
    repo: Path, careful: ToolContext
) -> None:
    (repo / "a.txt").write_bytes(b"a\n")
    call(careful, "read_file", path="a.txt")
    (repo / "a.txt").write_bytes(b"longer\n")
    outcome = call(careful, "Replace", file_path="a.txt", content="b")
    assert "modified since it was read" in outcome.text
    assert (repo / "a.txt").read_bytes() == b"longer\n"


def test_a_new_file_needs_no_reading(careful: ToolContext) -> None:
    assert call(careful, "Replace", file_path="new.txt", content="b").success


def test_other_permissions_still_hold(repo: Path, context: ToolContext) -> None:
    permissions = ReadBeforeWrite(READ_ONLY_POLICY, TOOLS, context.root, context.file_states)
    strict = dataclasses.replace(context, permissions=permissions)
    assert not call(strict, "Replace", file_path="new.txt", content="b").success
    assert not (repo / "new.txt").exists()


def test_a_path_outside_is_refused_by_the_tool_itself(careful: ToolContext) -> None:
    outcome = call(careful, "Replace", file_path="../out.txt", content="b")
    assert "outside" in outcome.text
