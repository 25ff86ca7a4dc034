"""Every example of document 000, replayed; docs/protocols.md says where and why we differ."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from codekernel.adapters.kode.chat_request import execute_call
from codekernel.agent.tool import ToolContext
from codekernel.agent.tools.toolsets import build_kode_tools
from codekernel.domain.diff import compute_structured_patch

EXAMPLES: Mapping[str, Any] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "document_000.json").read_text(encoding="utf-8")
)
THEIR_FOLDER = "/home/user/project"


def replayed(context: ToolContext, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The answer to the call that an example answers, in the words of the example's folder."""
    example = EXAMPLES[name]
    tool, call_id = example["tool_name"], example["tool_use_id"]
    message, *_ = execute_call(tool, call_id, given, build_kode_tools(), context)
    UUID(message["uuid"])
    text = json.dumps(message).replace(str(context.root.folder), THEIR_FOLDER)
    return {**json.loads(text), "uuid": example["uuid"]}


def with_hunks(name: str, *hunks: dict[str, Any]) -> dict[str, Any]:
    """An example with the hunks that jsdiff really gives: the document shortens their context."""
    example = EXAMPLES[name]
    return {**example, "data": {**example["data"], "structuredPatch": list(hunks)}}


def notebook(repo: Path, cells: int, *, markdown: int | None = None) -> str:
    content = {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": f"{number}"}
            if number == markdown
            else {
                "cell_type": "code",
                "execution_count": 1,
                "metadata": {},
                "outputs": [],
                "source": f"{number}",
            }
            for number in range(cells)
        ],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
    (repo / "a.ipynb").write_text(json.dumps(content), encoding="utf-8")
    return "a.ipynb"


def test_every_answer_has_the_base_format(context: ToolContext) -> None:
    arguments = {"file_path": "a.txt", "content": "x"}
    [message] = execute_call("Replace", "toolu_1", arguments, build_kode_tools(), context)
    assert list(message) == list(EXAMPLES["base"])
    assert message["type"] == "backend_only"


def test_replace_creates(repo: Path, context: ToolContext) -> None:
    example = EXAMPLES["replace_create"]
    given = {"file_path": str(repo / "new_file.py"), "content": example["data"]["content"]}
    assert replayed(context, "replace_create", given) == example


def test_replace_updates(repo: Path, context: ToolContext) -> None:
    example = EXAMPLES["replace_update"]
    (repo / "existing_file.py").write_bytes(b"def hello():\n    print('Hello, World!')\n")
    given = {"file_path": str(repo / "existing_file.py"), "content": example["data"]["content"]}
    assert replayed(context, "replace_update", given) == example


def test_edit_with_three_lines_of_context(repo: Path, context: ToolContext) -> None:
    data = EXAMPLES["edit"]["data"]
    (repo / "config.py").write_bytes(data["originalFile"].encode())
    given = {
        "file_path": str(repo / "config.py"),
        "old_string": data["oldString"],
        "new_string": data["newString"],
    }
    hunk = {
        "oldStart": 1,
        "oldLines": 3,
        "newStart": 1,
        "newLines": 3,
        "lines": [" # Configuration", "-DEBUG = False", "+DEBUG = True", " PORT = 8000"],
    }
    assert replayed(context, "edit", given) == with_hunks("edit", hunk)


def test_multi_edit_with_neighbouring_changes_in_one_hunk(repo: Path, context: ToolContext) -> None:
    data = EXAMPLES["multi_edit"]["data"]
    (repo / "utils.py").write_bytes(b"import os\na\nb\nc\ndef process():\n")
    given = {
        "file_path": str(repo / "utils.py"),
        "edits": [
            {"old_string": one["old_string"], "new_string": one["new_string"]}
            for one in data["editsApplied"]
        ],
    }
    hunk = {
        "oldStart": 1,
        "oldLines": 5,
        "newStart": 1,
        "newLines": 6,
        "lines": [
            " import os", "+import sys", " a", " b", " c",
            "-def process():", "+def process_data():",
        ],
    }  # fmt: skip
    assert replayed(context, "multi_edit", given) == with_hunks("multi_edit", hunk)


def test_multi_edit_fails(repo: Path, context: ToolContext) -> None:
    (repo / "utils.py").write_bytes(b"import os\n")
    edits = [
        {"old_string": "import os", "new_string": "import sys"},
        {"old_string": "def process()", "new_string": "def run()"},
    ]
    given = {"file_path": "utils.py", "edits": edits}
    assert replayed(context, "multi_edit_failure", given) == EXAMPLES["multi_edit_failure"]


@pytest.mark.parametrize(
    "name", ["notebook_replace", "notebook_insert", "notebook_delete", "notebook_failure"]
)
def test_a_notebook_is_edited_cell_by_cell(repo: Path, context: ToolContext, name: str) -> None:
    example = EXAMPLES[name]
    kept = ("cell_number", "new_source", "cell_type", "edit_mode")
    given = {field: example["data"][field] for field in kept}
    answered = replayed(context, name, {"notebook_path": notebook(repo, 8), **given})
    assert answered == example


def test_the_type_of_a_deleted_cell_is_its_own(repo: Path, context: ToolContext) -> None:
    path = notebook(repo, 3, markdown=2)
    given = {"notebook_path": path, "cell_number": 2, "edit_mode": "delete"}
    expected = {**EXAMPLES["notebook_delete"]["data"], "cell_type": "markdown"}
    assert replayed(context, "notebook_delete", given)["data"] == expected


def test_the_example_of_a_hunk_is_a_part_of_one() -> None:
    """The document cuts the context that goes before and behind; its lines and counts hold."""
    example = EXAMPLES["hunk"]
    above = "".join(f"line {number}\n" for number in range(1, 10))
    old = above + "def calculate(x):\n    return x * 2\n\n"
    new = above + "def calculate(x):\n    # Updated calculation\n    return x * 3\n\n"
    [hunk] = compute_structured_patch(old, new)
    sent = hunk.to_json()
    assert sent["lines"] == [" line 8", " line 9", *example["lines"]]
    assert (sent["oldStart"], sent["newStart"]) == (8, 8)
    assert (sent["oldLines"], sent["newLines"]) == (5, 6)
    assert set(sent) == set(example)
