import json
from pathlib import Path
from typing import Any

import pytest
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tools import notebook_edit

Cell = dict[str, Any]


def code(source: str | list[str], name: str = "c0") -> Cell:
    return {
        "cell_type": "code",
        "execution_count": 7,
        "id": name,
        "metadata": {"tags": ["keep"]},
        "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}],
        "source": source,
    }


def markdown(source: str, name: str = "m0") -> Cell:
    return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source}


def written(repo: Path, *cells: Cell, minor: int = 5, language: str = "julia") -> Path:
    notebook = {
        "cells": cells,
        "metadata": {"language_info": {"name": language}, "kept": 1.5},
        "nbformat": 4,
        "nbformat_minor": minor,
    }
    file = repo / "a.ipynb"
    file.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return file


def cells_of(file: Path) -> list[Cell]:
    cells: list[Cell] = json.loads(file.read_bytes())["cells"]
    return cells


def edited(context: ToolContext, number: int, **given: Any) -> ToolOutcome:
    given = {"notebook_path": "a.ipynb", "cell_number": number, **given}
    return ToolRegistry((notebook_edit.notebook_edit_cell,)).call(
        "NotebookEditCell", given, context
    )


def test_a_replaced_cell_loses_what_it_had_put_out(repo: Path, context: ToolContext) -> None:
    file = written(repo, markdown("head"), code("x = 1"))
    outcome = edited(context, 1, new_source="x = 2\ny")
    assert outcome.data == {
        "cell_number": 1,
        "new_source": "x = 2\ny",
        "cell_type": "code",
        "language": "julia",
        "edit_mode": "replace",
    }
    assert cells_of(file)[1] == code("x = 2\ny") | {"outputs": [], "execution_count": None}


def test_a_source_that_is_a_list_of_lines_stays_one(repo: Path, context: ToolContext) -> None:
    file = written(repo, code(["x\n", "y"]))
    edited(context, 0, new_source="a\n\nb\n")
    assert cells_of(file)[0]["source"] == ["a\n", "\n", "b\n"]


def test_a_cell_that_becomes_text_has_no_outputs(repo: Path, context: ToolContext) -> None:
    file = written(repo, code("x"))
    assert (
        edited(context, 0, new_source="# x", cell_type="markdown").data["cell_type"] == "markdown"
    )
    assert set(cells_of(file)[0]) == {"cell_type", "id", "metadata", "source"}


def test_text_that_becomes_code_gets_what_code_needs(repo: Path, context: ToolContext) -> None:
    file = written(repo, markdown("x") | {"attachments": {}})
    edited(context, 0, new_source="x", cell_type="code")
    [cell] = cells_of(file)
    assert (cell["outputs"], cell["execution_count"]) == ([], None)
    assert "attachments" not in cell


def test_replacing_text_adds_no_outputs_to_it(repo: Path, context: ToolContext) -> None:
    file = written(repo, markdown("x"))
    assert edited(context, 0, new_source="y").data["cell_type"] == "markdown"
    assert cells_of(file) == [markdown("y")]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_cell_is_inserted_before_the_one_of_its_number_or_at_the_end(
    repo: Path, context: ToolContext, number: int
) -> None:
    file = written(repo, code("a"), code("b", "c1"))
    outcome = edited(context, number, new_source="new", cell_type="code", edit_mode="insert")
    assert outcome.data["edit_mode"] == "insert"
    cells = cells_of(file)
    expected = ["a", "b"]
    expected.insert(number, "new")
    assert [cell["source"] for cell in cells] == expected
    new = cells[number]
    assert new.pop("id") not in {"c0", "c1"}
    assert new == {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": "new",
    }


def test_before_format_4_5_a_cell_has_no_id(repo: Path, context: ToolContext) -> None:
    file = written(repo, minor=4)
    edited(context, 0, new_source="new", cell_type="markdown", edit_mode="insert")
    assert cells_of(file) == [{"cell_type": "markdown", "metadata": {}, "source": "new"}]


def test_a_cell_is_deleted(repo: Path, context: ToolContext) -> None:
    file = written(repo, code("a"), markdown("b"), code("c"))
    outcome = edited(context, 1, edit_mode="delete")
    assert (outcome.data["cell_type"], outcome.data["new_source"]) == ("markdown", "")
    assert [cell["source"] for cell in cells_of(file)] == ["a", "c"]


@pytest.mark.parametrize(
    ("number", "mode"), [(2, "replace"), (-1, "replace"), (2, "delete"), (3, "insert")]
)
def test_a_number_out_of_bounds_is_reported_with_the_cell(
    repo: Path, context: ToolContext, number: int, mode: str
) -> None:
    file = written(repo, code("a"), code("b"))
    before = file.read_bytes()
    outcome = edited(context, number, new_source="x", cell_type="code", edit_mode=mode)
    assert not outcome.success
    assert outcome.data == {
        "cell_number": number,
        "new_source": "x",
        "cell_type": "code",
        "language": "julia",
        "edit_mode": mode,
        "error": "Cell number is out of bounds. Notebook has 2 cells.",
    }
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"{}", b'{"cells": 3}', b'{"cells": [3]}',
        b'{"cells": [], "nbformat": 3}', b"[" * 100_000, b"\0\1",
    ],
)  # fmt: skip
def test_what_is_no_notebook_is_refused(repo: Path, context: ToolContext, content: bytes) -> None:
    (repo / "a.ipynb").write_bytes(content)
    outcome = edited(context, 0, new_source="x", cell_type="code", edit_mode="insert")
    assert not outcome.success
    assert outcome.data["error"] == outcome.text
    assert (repo / "a.ipynb").read_bytes() == content


def test_other_files_types_and_modes_are_refused(repo: Path, context: ToolContext) -> None:
    written(repo, code("a"))
    assert "cell_type" in edited(context, 0, new_source="x", edit_mode="insert").data["error"]
    assert not edited(context, 0, notebook_path="none.ipynb").success
    assert "no notebook" in edited(context, 0, notebook_path="a.py").data["error"]
    assert "edit_mode" in edited(context, 0, edit_mode="append").text


@pytest.mark.parametrize(
    ("form", "end", "line_end"),
    [
        ({"indent": 1, "ensure_ascii": False}, "\n", "\n"),
        ({"indent": 2, "ensure_ascii": True}, "", "\r\n"),
        ({"indent": "\t", "ensure_ascii": False}, "\n", "\n"),
    ],
)
def test_only_the_cell_changes_in_the_file(
    repo: Path, context: ToolContext, form: dict[str, Any], end: str, line_end: str
) -> None:
    file = written(repo, code("a = 'é'"), markdown("b"))
    content = json.loads(file.read_bytes())

    def as_bytes() -> bytes:
        return (json.dumps(content, **form) + end).replace("\n", line_end).encode()

    file.write_bytes(as_bytes())
    edited(context, 1, new_source="ç")
    content["cells"][1]["source"] = "ç"
    assert file.read_bytes() == as_bytes()
