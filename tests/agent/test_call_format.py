import pytest
from agent.calling import Call
from codekernel.agent.tools.call_format import format_tool_call, format_tool_result


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("search_context", {"pattern": "def ", "path": "."}, 'SEARCH(pattern="def ", path=".")'),
        ("search_context", {"pattern": "x"}, 'SEARCH(pattern="x", path=".")'),
        ("read_file", {"path": "tricode.py", "start_line": 1, "end_line": 10},
         'READ("tricode.py", start=1, end=10)'),
        ("read_file", {"path": "p", "start_line": 1, "end_line": 10, "max_bytes": 4096,
                       "with_metadata": True}, 'READ("p", start=1, end=10, max=4096B, meta)'),
        ("read_file", {"path": "p", "end_line": 10}, 'READ("p")'),
        ("create_file", {"path": "p", "content": "x"}, 'CREATE("p")'),
        ("edit_file", {"path": "p", "mode": "overwrite"}, 'EDIT("p", mode=overwrite)'),
        ("edit_file", {"path": "p", "hunks": [{}, {}]}, 'EDIT("p", hunks=2)'),
        ("edit_file", {"path": "p"}, 'EDIT("p")'),
        ("list_directory", {"path": "."}, 'LIST(".")'),
        ("list_directory", {}, 'LIST(".")'),
        ("delete_file", {"path": "p"}, 'DELETE FILE("p")'),
        ("delete_path", {"path": "p", "recursive": True}, 'DELETE PATH("p", recursive=True)'),
        ("delete_path", {"path": "p"}, 'DELETE PATH("p")'),
        ("mkdir", {"path": "p"}, 'MKDIR("p", parents=True)'),
        ("mkdir", {"path": "p", "parents": False, "exist_ok": True}, 'MKDIR("p", exist_ok=True)'),
        ("run_command", {"command": "ls -l"}, "RUN(ls -l)"),
        ("plan", {"action": "create", "tasks": []}, "PLAN CREATE"),
        ("list_sessions", {}, "LIST SESSIONS()"),
        ("Replace", {"file_path": "p", "content": "x"}, 'REPLACE("p")'),
        ("Edit", {"file_path": "p", "old_string": "a", "new_string": "b"}, 'EDIT("p")'),
        ("MultiEdit", {"file_path": "p", "edits": [{}, {}]}, 'MULTI EDIT("p", edits=2)'),
        ("MultiEdit", {"edits": "no list"}, 'MULTI EDIT("")'),
        ("NotebookEditCell", {"notebook_path": "n.ipynb", "cell_number": 0},
         'NOTEBOOK EDIT("n.ipynb", cell=0, mode=replace)'),
        ("unheard_of", {"a": 1}, 'UNHEARD_OF({"a": 1})'),
        ("edit_file", {"path": 7, "hunks": "no list"}, 'EDIT("7")'),
    ],
)  # fmt: skip
def test_calls_are_written_as_document_001_does(
    name: str, given: dict[str, object], text: str
) -> None:
    assert format_tool_call(name, given) == text


def test_results_are_written_as_document_001_does(call: Call) -> None:
    def describe(name: str, **given: object) -> str:
        outcome = call(name, **given)
        return format_tool_result(name, given, outcome.text, success=outcome.success)

    assert describe("create_file", path="a.txt", content="1\n2\n3\n") == "[OK] created 3 lines"
    assert describe("read_file", path="a.txt") == "[OK] read 3 lines"
    assert (
        describe("read_file", path="a.txt", start_line=2, with_metadata=True) == "[OK] read 2 lines"
    )
    assert describe("search_context", pattern="[12]") == "[OK] 2 results"
    assert describe("search_context", pattern="nowhere") == "[OK] 0 results"
    assert describe("list_directory") == "[OK] 2 items"  # the line with the total is one
    hunk = {"op": "replace", "anchor": {"type": "exact", "pattern": "2"}, "content": "x\ny"}
    assert describe("edit_file", path="a.txt", hunks=[hunk]) == "[OK] edited (+2 / -1) lines"
    assert describe("edit_file", path="a.txt", mode="overwrite", content="12345") == (
        "[OK] overwrite 5 bytes"
    )
    assert describe("mkdir", path="d") == "Created directory: d"
    assert describe("plan", action="skip") == "Planning skipped."
    assert describe("delete_file", path="a.txt") == "Deleted file: a.txt"
    assert describe("read_file", path="a.txt") == "[FAIL] File not found: a.txt"
