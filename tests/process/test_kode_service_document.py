"""Every example of document 000 as a frame of the Kode service; see adapters/kode for the tools."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from support.chat_server import reply_text
from support.kode_service import SKIP, KodeWorld, call_tools, select

EXAMPLES: Mapping[str, Any] = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "document_000.json").read_text(encoding="utf-8")
)
THEIR_FOLDER = "/home/user/project"
# What the files are before, and the hunks of jsdiff where the document shortens them.
EDIT_HUNK = {
    "oldStart": 1,
    "oldLines": 3,
    "newStart": 1,
    "newLines": 3,
    "lines": [" # Configuration", "-DEBUG = False", "+DEBUG = True", " PORT = 8000"],
}
MULTI_EDIT_HUNK = {
    "oldStart": 1,
    "oldLines": 5,
    "newStart": 1,
    "newLines": 6,
    "lines": [
        " import os", "+import sys", " a", " b", " c", "-def process():", "+def process_data():",
    ],
}  # fmt: skip
CELL = {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": "x"}
NOTEBOOK = {
    "cells": [CELL] * 8,
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 4,
}


def call(kode: KodeWorld, name: str, folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """The frame of the call that an example answers, in the words of the example's folder."""
    example = EXAMPLES[name]
    kode.script(
        call_tools(SKIP, (example["tool_use_id"], example["tool_name"], given)), reply_text("ok")
    )
    frames = kode.client.ask(name, folder)
    frame, result = select(frames, "backend_only")[-1], select(frames, "tool_result")[-1]
    assert frames.index(result) == frames.index(frame) + 1
    assert result["tool_use_id"] == example["tool_use_id"]
    failed = isinstance(example["data"], str) or "error" in example["data"]
    assert result.get("is_error", False) is failed
    UUID(frame["uuid"])
    assert frame.pop("timestamp") > 1e12
    assert list(frame) == list(EXAMPLES["base"])
    text = json.dumps(frame).replace(str(folder), THEIR_FOLDER)
    return {**json.loads(text), "uuid": example["uuid"]}


def with_hunk(name: str, hunk: dict[str, Any]) -> dict[str, Any]:
    example = EXAMPLES[name]
    return {**example, "data": {**example["data"], "structuredPatch": [hunk]}}


@pytest.fixture
def folder(kode: KodeWorld, request: pytest.FixtureRequest) -> Path:
    made: Path = kode.first / request.node.name.replace("[", "-").replace("]", "")
    made.mkdir()
    return made


def test_replace(kode: KodeWorld, folder: Path) -> None:
    created = EXAMPLES["replace_create"]
    given = {"file_path": str(folder / "new_file.py"), "content": created["data"]["content"]}
    assert call(kode, "replace_create", folder, given) == created
    updated = EXAMPLES["replace_update"]
    file = folder / "existing_file.py"
    file.write_bytes(b"def hello():\n    print('Hello, World!')\n")
    given = {"file_path": str(file), "content": updated["data"]["content"]}
    assert call(kode, "replace_update", folder, given) == updated


def test_edit(kode: KodeWorld, folder: Path) -> None:
    data, file = EXAMPLES["edit"]["data"], folder / "config.py"
    file.write_bytes(data["originalFile"].encode())
    words = {"old_string": data["oldString"], "new_string": data["newString"]}
    answered = call(kode, "edit", folder, {"file_path": str(file), **words})
    assert answered == with_hunk("edit", EDIT_HUNK)


def test_multi_edit(kode: KodeWorld, folder: Path) -> None:
    data, file = EXAMPLES["multi_edit"]["data"], folder / "utils.py"
    file.write_bytes(b"import os\na\nb\nc\ndef process():\n")
    edits = [
        {name: one[name] for name in ("old_string", "new_string")} for one in data["editsApplied"]
    ]
    answered = call(kode, "multi_edit", folder, {"file_path": str(file), "edits": edits})
    assert answered == with_hunk("multi_edit", MULTI_EDIT_HUNK)


def test_multi_edit_that_fails(kode: KodeWorld, folder: Path) -> None:
    (folder / "utils.py").write_bytes(b"import os\n")
    edits = [
        {"old_string": "import os", "new_string": "import sys"},
        {"old_string": "def process()", "new_string": "def run()"},
    ]
    given = {"file_path": "utils.py", "edits": edits}
    assert call(kode, "multi_edit_failure", folder, given) == EXAMPLES["multi_edit_failure"]
    assert (folder / "utils.py").read_bytes() == b"import os\n"


@pytest.mark.parametrize(
    "name", ["notebook_replace", "notebook_insert", "notebook_delete", "notebook_failure"]
)
def test_a_notebook(kode: KodeWorld, folder: Path, name: str) -> None:
    (folder / "a.ipynb").write_text(json.dumps(NOTEBOOK), encoding="utf-8")
    kept = ("cell_number", "new_source", "cell_type", "edit_mode")
    given = {field: EXAMPLES[name]["data"][field] for field in kept}
    assert call(kode, name, folder, {"notebook_path": "a.ipynb", **given}) == EXAMPLES[name]


def test_a_tool_that_is_not_in_the_document_has_its_data_too(kode: KodeWorld, folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"hello\n")
    read = ("toolu_1", "read_file", {"path": "a.txt"})
    kode.script(call_tools(SKIP, read, ("toolu_2", "Sing", {})), reply_text("ok"))
    frames = kode.client.ask("read", folder)
    _, told, unknown = select(frames, "backend_only")
    assert "hello" in json.dumps(told["data"])
    assert "There is no tool Sing" in unknown["data"]
