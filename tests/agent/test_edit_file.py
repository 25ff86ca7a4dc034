import codecs
import dataclasses
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from agent.calling import Call
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tool_policy import ToolLimits
from codekernel.agent.tools.toolsets import build_ide_tools
from support.undoing import undo_last

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX modes and links")

SOURCE = "class Runner(Base):\n    pass\n\ndef main():\n    run()\n    run()\n    run()\n"
DAMAGED = ("\u4e2d" * 50).encode() + b"\xff one\n"
CHINESE = "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u4e2d\u6587\u6587\u4ef6\n".encode("gb18030") * 5


@pytest.fixture
def source(repo: Path) -> Path:
    (repo / "a.py").write_bytes(SOURCE.encode())
    return repo / "a.py"


def hunk(op: str, pattern: str, content: str | None = None, **anchor: Any) -> dict[str, Any]:
    kind = anchor.pop("type", "exact")
    return {"op": op, "anchor": {"type": kind, "pattern": pattern, **anchor}, "content": content}


def parse_result(outcome: ToolOutcome) -> dict[str, Any]:
    assert outcome.success, outcome.text
    result = json.loads(outcome.text)
    assert isinstance(result, dict)
    return result


def test_the_patch_of_document_001_does_what_it_says(source: Path, call: Call) -> None:
    outcome = call(
        "edit_file",
        path="a.py",
        mode="patch",
        hunks=[
            {
                "op": "replace",
                "anchor": {"type": "exact", "pattern": "def main():"},
                "content": "def main():\n    print('hi')\n",
            },
            {
                "op": "insert_after",
                "anchor": {
                    "type": "regex",
                    "pattern": "^class Runner\\(.*\\):$",
                    "occurrence": "first",
                },
                "content": "\n    def ping(self):\n        return 'pong'\n",
            },
        ],
        precondition={"file_sha256": hashlib.sha256(SOURCE.encode()).hexdigest()},
        dry_run=False,
    )
    after = SOURCE.replace("def main():", "def main():\n    print('hi')\n").replace(
        "(Base):", "(Base):\n    def ping(self):\n        return 'pong'\n"
    )
    assert source.read_text() == after
    result = parse_result(outcome)
    assert result["sha256_before"] == hashlib.sha256(SOURCE.encode()).hexdigest()
    assert result["sha256_after"] == hashlib.sha256(after.encode()).hexdigest()
    assert [(each["hunk"], each["line"], each["count"]) for each in result["matches"]] == [
        (1, 4, 1),
        (2, 1, 1),
    ]
    assert "+    print('hi')\n" in result["diff"]
    assert result["diff"].startswith("--- a/a.py\n+++ b/a.py\n@@ -1,")


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (hunk("replace", "run()", "go()"), SOURCE.replace("run()", "go()", 1)),
        (hunk("replace", "run()", "go()", occurrence="last"), SOURCE[:-6] + "go()\n"),
        (hunk("replace", "run()", "go()", nth=2), SOURCE[:-16] + "go()\n    run()\n"),
        (hunk("delete", "    run()\n", nth=3), SOURCE[:-10]),
        (hunk("insert_before", "def main", "# main\n"), SOURCE.replace("def", "# main\ndef")),
        (hunk("insert_after", "pass", " # nothing"), SOURCE.replace("pass", "pass # nothing")),
        (hunk("replace", r"run\(\)$", r"\1 \g<0> $&", type="regex"),
         SOURCE.replace("run()", r"\1 \g<0> $&", 1)),
        (hunk("replace", r"^DEF.*run\(\)", "x", type="regex", dotall=True, ignorecase=True),
         SOURCE[: SOURCE.index("def")] + "x\n"),
        (hunk("replace", "run()", "go()", range=[6, 6]), SOURCE[:-16] + "go()\n    run()\n"),
        (hunk("insert_before", "^", "# top\n", type="regex"), "# top\n" + SOURCE),
        (hunk("insert_after", r"\Z", "# end\n", type="regex"), SOURCE + "# end\n"),
    ],
)  # fmt: skip
def test_each_operation_changes_the_place_that_is_meant(
    change: dict[str, Any], after: str, source: Path, call: Call
) -> None:
    parse_result(call("edit_file", path="a.py", hunks=[change]))
    assert source.read_text() == after


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"hunks": [hunk("replace", "nowhere", "x")]}, "Hunk 1: The anchor was not found"),
        ({"hunks": [hunk("replace", "main", "x"), hunk("delete", "def main")]}, "Hunk 2"),
        ({"hunks": [hunk("replace", "run()", "x", must_unique=True)]},
         "matches 3 times (lines 5, 6, 7)"),
        ({"hunks": [{**hunk("replace", "run()", "x"), "must_unique": True}]}, "not unique"),
        ({"hunks": [hunk("replace", "run()", "x", nth=4)]}, "no match 4 of the anchor, only 3"),
        ({"hunks": [hunk("replace", "run()", "x", nth=0)]}, "`hunks[0].anchor.nth`"),
        ({"hunks": [hunk("replace", "run()", "x", range=[1, 3])]}, "not found in lines 1 to 3"),
        ({"hunks": [hunk("replace", "run()", "x", range=[3, 1])]}, "no range of lines"),
        ({"hunks": [hunk("replace", "run()", "x", range=[1])]}, "range"),
        ({"hunks": [hunk("replace", "", "x")]}, "empty"),
        ({"hunks": [hunk("replace", "run()")]}, "`content` is missing"),
        ({"hunks": [hunk("rename", "run()", "x")]}, "`hunks[0].op`"),
        ({"hunks": [hunk("replace", "(", "x", type="regex")]}, "not valid"),
        ({"hunks": [hunk("replace", "a" * 20_000, "x", type="regex")]}, "are allowed"),
        ({"hunks": []}, "needs `hunks`"),
        ({}, "needs `hunks`"),
        ({"mode": "overwrite"}, "needs `content`"),
        ({"mode": "shred", "content": ""}, "`mode`"),
        ({"mode": "append", "content": "x\ud800"}, "surrogate"),
        ({"mode": "append", "content": "x", "precondition": {"file_sha256": "0" * 64}},
         "Precondition failed"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_whole_is_not_done_at_all(
    given: dict[str, Any], why: str, source: Path, context: ToolContext, call: Call
) -> None:
    before = source.stat()
    outcome = call("edit_file", path="a.py", **given)
    assert not outcome.success
    assert why in outcome.text
    assert source.read_bytes() == SOURCE.encode()
    assert source.stat().st_mtime_ns == before.st_mtime_ns
    assert context.journal.changes == []
    assert [path.name for path in source.parent.iterdir()] == ["a.py"]


@pytest.mark.slow
def test_a_catastrophic_expression_is_ended_within_its_time(
    repo: Path, context: ToolContext, call: Call
) -> None:
    (repo / "a.txt").write_text("a" * 5_000 + "\n")
    brief = dataclasses.replace(context, limits=ToolLimits(timeout_seconds=0.5))
    for pattern in (r"(a+)+b", r"(a|a)*\d", r"(.*)*\d{3}"):
        change = hunk("delete", pattern, type="regex", dotall=True)
        outcome = call("edit_file", brief, path="a.txt", hunks=[change])
        assert not outcome.success
        assert "still running after 0.5 seconds" in outcome.text
    harmless = hunk("delete", r"(a+)+\n", type="regex")
    assert call("edit_file", context, path="a.txt", hunks=[harmless]).success
    assert (repo / "a.txt").read_text() == ""


def test_a_dry_run_says_what_would_change_and_changes_nothing(
    source: Path, context: ToolContext, call: Call
) -> None:
    change = hunk("replace", "pass", "...")
    dry = parse_result(call("edit_file", path="a.py", hunks=[change], dry_run=True))
    assert source.read_text() == SOURCE
    assert context.journal.changes == []
    wet = parse_result(call("edit_file", path="a.py", hunks=[change]))
    assert {**dry, "dry_run": False} == wet
    assert (wet["added"], wet["deleted"]) == (1, 1)
    parse_result(call("edit_file", path="new.py", mode="overwrite", content="x", dry_run=True))
    assert not (source.parent / "new.py").exists()


def test_the_simple_modes_write_a_whole_text_or_add_to_one(repo: Path, call: Call) -> None:
    made = parse_result(call("edit_file", path="new/a.md", mode="overwrite", content="# Title\n"))
    assert made["created"]
    assert made["bytes"] == 8
    parse_result(call("edit_file", path="new/a.md", mode="append", content="end"))
    parse_result(call("edit_file", path="new/a.md", mode="prepend", content="begin\n"))
    assert (repo / "new" / "a.md").read_text() == "begin\n# Title\nend"
    parse_result(call("edit_file", path="new/a.md", mode="overwrite", content=""))
    assert (repo / "new" / "a.md").read_bytes() == b""
    for mode in ("append", "prepend", "patch"):
        outcome = call(
            "edit_file", path="missing", mode=mode, content="x", hunks=[hunk("delete", "x")]
        )
        assert not outcome.success
    stale = {"file_sha256": "0" * 64}
    assert not call(
        "edit_file", path="missing", mode="overwrite", content="x", precondition=stale
    ).success
    assert not (repo / "missing").exists()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"one\r\ntwo\r\nthree\r\n", b"one\r\n2\r\n2b\r\nthree\r\n"),
        (b"one\ntwo\nthree\n", b"one\n2\n2b\nthree\n"),
        (b"one\r\ntwo\r\nthree\n", b"one\r\n2\r\n2b\r\nthree\n"),  # mixed: the rest stays so
        (b"one\rtwo\nthree", b"one\r2\n2b\nthree"),
        (codecs.BOM_UTF8 + b"one\ntwo\nthree", codecs.BOM_UTF8 + b"one\n2\n2b\nthree"),
        *(
            (mark + "one\r\ntwo\r\n\u00e9".encode(codec),
             mark + "one\r\n2\r\n2b\r\n\u00e9".encode(codec))
            for mark, codec in (
                (codecs.BOM_UTF16_LE, "utf-16-le"),
                (codecs.BOM_UTF16_BE, "utf-16-be"),
                (codecs.BOM_UTF32_LE, "utf-32-le"),
            )
        ),
        (b"caf\xe9 one\ntwo\n", b"caf\xe9 one\n2\n2b\n"),
        (DAMAGED + b"two\n", DAMAGED + b"2\n2b\n"),
        (CHINESE + b"two\n", CHINESE + b"2\n2b\n"),
    ],
)  # fmt: skip
def test_line_ends_encoding_and_mark_stay_as_they_are(
    before: bytes, after: bytes, repo: Path, call: Call
) -> None:
    (repo / "a.txt").write_bytes(before)
    parse_result(call("edit_file", path="a.txt", hunks=[hunk("replace", "two", "2\n2b")]))
    assert (repo / "a.txt").read_bytes() == after


def test_an_anchor_over_several_lines_is_found_in_a_file_with_carriage_returns(
    repo: Path, call: Call
) -> None:
    (repo / "a.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    parse_result(call("edit_file", path="a.txt", hunks=[hunk("replace", "one\ntwo\n", "1\r\n2\n")]))
    parse_result(
        call("edit_file", path="a.txt", hunks=[hunk("delete", "^2\nthree$\n", type="regex")])
    )
    assert (repo / "a.txt").read_bytes() == b"1\r\n"
    parse_result(call("edit_file", path="a.txt", mode="overwrite", content="a\nb\n"))
    assert (repo / "a.txt").read_bytes() == b"a\r\nb\r\n"


def test_a_character_that_the_encoding_lacks_is_refused(repo: Path, call: Call) -> None:
    (repo / "a.txt").write_bytes(b"caf\xe9\n")
    outcome = call("edit_file", path="a.txt", mode="append", content="\u4e2d")
    assert not outcome.success
    assert "U+4E2D" in outcome.text
    assert (repo / "a.txt").read_bytes() == b"caf\xe9\n"


def test_a_binary_file_is_not_edited_nor_overwritten(repo: Path, call: Call) -> None:
    data = bytes(range(256))
    (repo / "a.bin").write_bytes(data)
    for given in ({"mode": "overwrite", "content": "x"}, {"hunks": [hunk("delete", "a")]}):
        outcome = call("edit_file", path="a.bin", **given)
        assert not outcome.success
        assert "binary" in outcome.text
    assert (repo / "a.bin").read_bytes() == data


@posix_only
@pytest.mark.parametrize("mode", [0o755, 0o600, 0o664, 0o4755])
def test_the_mode_of_a_file_stays(mode: int, source: Path, call: Call) -> None:
    source.chmod(mode)
    parse_result(call("edit_file", path="a.py", mode="append", content="x"))
    assert stat.S_IMODE(source.stat().st_mode) == mode


@posix_only
def test_a_protected_file_is_not_written(source: Path, call: Call) -> None:
    source.chmod(0o444)
    outcome = call("edit_file", path="a.py", mode="append", content="x")
    assert not outcome.success
    assert "write-protected" in outcome.text
    assert source.read_text() == SOURCE


@posix_only
def test_the_target_of_a_link_is_written_and_the_link_stays(source: Path, call: Call) -> None:
    link = source.with_name("link.py")
    link.symlink_to("a.py")
    parse_result(call("edit_file", path="link.py", mode="overwrite", content="new\n"))
    assert link.is_symlink()
    assert source.read_text() == "new\n"


def test_a_new_file_is_made_with_its_folders_and_never_over_another(repo: Path, call: Call) -> None:
    outcome = call("create_file", path="a/b/c.py", content="print('hello')\r\n")
    assert outcome.success
    assert (repo / "a" / "b" / "c.py").read_bytes() == b"print('hello')\r\n"
    again = call("create_file", path="a/b/c.py", content="other")
    assert not again.success
    assert "already exists" in again.text
    assert not call("create_file", path="a/b", content="").success
    assert not call("create_file", path="a/b/c.py/d", content="").success
    assert not call("create_file", path="x" * 300, content="").success
    assert (repo / "a" / "b" / "c.py").read_bytes() == b"print('hello')\r\n"
    if os.name != "nt":
        umask = os.umask(0)
        os.umask(umask)
        assert stat.S_IMODE((repo / "a" / "b" / "c.py").stat().st_mode) == 0o666 & ~umask


def change(context: ToolContext, search: str, replacement: str, path: str = "a.py") -> ToolOutcome:
    given = {"relativePath": path, "searchContent": search, "replaceContent": replacement}
    return build_ide_tools().call("apply_change", {"projectKey": "p", **given}, context)


@pytest.mark.parametrize(
    ("search", "replacement", "after"),
    [
        ("def main():\nrun()\n", "def main():\n    go()\n",
         "class Runner(Base):\n    pass\n\ndef main():\n    go()\n    run()\n    run()\n"),
        ("pass", "x = 1\nif x:\n    y = 2",
         SOURCE.replace("    pass\n", "    x = 1\n    if x:\n        y = 2\n")),
        ("        pass\n\n\n", "        a\n            b\n    c\n",
         SOURCE.replace("    pass\n", "    a\n        b\nc\n")),
        ("pass\n\ndef main():", "    one()",
         SOURCE.replace("    pass\n\ndef main():\n", "        one()\n")),
        ("    run()\n\n    run()\n", "", SOURCE.replace("    run()\n    run()\n", "", 1)),
        ("Runner(", "Walker(", SOURCE.replace("Runner", "Walker")),  # within a line: exactly
    ],
)  # fmt: skip
def test_apply_change_finds_lines_whatever_their_indentation(
    search: str, replacement: str, after: str, source: Path, context: ToolContext
) -> None:
    outcome = change(context, search, replacement)
    assert outcome.success, outcome.text
    assert source.read_text() == after


def test_apply_change_keeps_carriage_returns_and_the_missing_end_of_a_file(
    repo: Path, context: ToolContext
) -> None:
    (repo / "a.py").write_bytes(b"if a:\r\n\tb()\r\n\tc()")
    assert change(context, "c()", "d()\ne()").success
    assert (repo / "a.py").read_bytes() == b"if a:\r\n\tb()\r\n\td()\r\n\te()"


def test_apply_change_without_a_search_writes_the_whole_file(
    repo: Path, context: ToolContext
) -> None:
    assert change(context, "", "one\n", "deep/er/new.txt").success
    assert change(context, "", "two\n", "deep/er/new.txt").success
    assert (repo / "deep" / "er" / "new.txt").read_text() == "two\n"
    undo_last(context.journal)
    assert (repo / "deep" / "er" / "new.txt").read_text() == "one\n"


def test_apply_change_that_finds_nothing_says_so_in_the_words_of_the_document(
    source: Path, context: ToolContext
) -> None:
    for search in ("nowhere", "run()\nmain", "  \n "):
        outcome = change(context, search, "x")
        assert not outcome.success
        assert outcome.text == "未找到匹配的旧内容（精确和模糊都未匹配）"  # noqa: RUF001 - as it is written
    assert source.read_text() == SOURCE
