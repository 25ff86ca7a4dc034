import dataclasses
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.kode.stdio_server import ReadBeforeWrite
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tool_policy import ALLOW_ALL_POLICY, READ_ONLY_POLICY
from codekernel.agent.tools.toolsets import build_kode_tools

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
