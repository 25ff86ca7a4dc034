import dataclasses
import os
import time
from pathlib import Path

import pytest
from agent.calling import Call
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tool_policy import ToolLimits
from codekernel.agent.tools.toolsets import build_ide_tools
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import CHANGED_SINCE_INDEXED, Hit
from codekernel.errors import Cancelled
from support.indexed_chunks import indexed_chunk


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / "build").mkdir()
    (folder / ".gitignore").write_text("build/\n*.log\n")
    (folder / "src" / "a.py").write_text("import os\n\ndef main():\n    pass\n")
    (folder / "src" / "b.py").write_bytes(b"def other():\r\n    return 1\r\n")
    (folder / "src" / "data.bin").write_bytes(b"\0\1\2def x\n" * 50)
    (folder / "build" / "c.py").write_text("def built():\n")
    (folder / "x.log").write_text("def logged\n")
    return folder


def test_a_folder_gives_file_line_text_and_a_file_line_text(call: Call) -> None:
    everywhere = call("search_context", pattern=r"^def \w+", path=".")
    assert everywhere.success
    assert everywhere.text == "src/a.py:3:def main():\nsrc/b.py:1:def other():"
    assert call("search_context", pattern="def ", path="src/a.py").text == "3:def main():"
    assert call("search_context", pattern="RETURN|return", path="src").text == (
        "src/b.py:2:    return 1"
    )


def test_what_is_ignored_is_searched_only_when_it_is_named(call: Call) -> None:
    assert call("search_context", pattern="logged|built").text == "No matches found"
    assert call("search_context", pattern="logged", path="x.log").text == "1:def logged"
    assert call("search_context", pattern="built", path="build").text == "build/c.py:1:def built():"


def test_an_expression_that_matches_nothing_finds_no_file_without_text(call: Call) -> None:
    found = call("search_context", pattern="^$").text
    assert found == ".gitignore:3:\nsrc/a.py:2:\nsrc/a.py:5:\nsrc/b.py:3:"


def test_nothing_found_is_a_success_and_a_missing_place_is_not(call: Call) -> None:
    assert call("search_context", pattern="nowhere") == ToolOutcome(
        success=True, text="No matches found", data={"matches": 0, "complete": True}
    )
    assert not call("search_context", pattern="x", path="missing").success


@pytest.mark.parametrize(
    ("pattern", "why"),
    [("(", "not valid"), ("[a", "not valid"), ("a{9", None), ("(a+)+$", "could run for ages"),
     ("(x|x)*y", "could run for ages"), ("a" * 2_000, "are allowed"), ("", "empty")],
)  # fmt: skip
def test_an_invalid_or_catastrophic_expression_fails_at_once(
    pattern: str, why: str | None, repo: Path, call: Call
) -> None:
    (repo / "as.txt").write_text("a" * 50_000 + "\n")
    outcome = call("search_context", pattern=pattern)
    assert outcome.success == (why is None)
    assert why is None or why in outcome.text


def test_a_search_ends_with_its_time_and_says_so(
    repo: Path, context: ToolContext, call: Call
) -> None:
    for number in range(200):
        (repo / f"{number}.txt").write_text("some text\n" * 2_000)
    hurried = dataclasses.replace(context, limits=ToolLimits(timeout_seconds=0.0))
    outcome = call("search_context", hurried, pattern="text$")
    assert outcome.success
    assert not outcome.data["complete"]
    assert "stopped after 0 seconds" in outcome.text


def test_more_matches_than_anybody_reads_are_cut_off(
    repo: Path, context: ToolContext, call: Call
) -> None:
    (repo / "many.txt").write_text("same\n" * 50)
    (repo / "long.txt").write_text("wide" * 10_000 + "\n")
    few = dataclasses.replace(context, limits=ToolLimits(max_matches=10))
    outcome = call("search_context", few, pattern="same")
    assert len(outcome.text.split("\n")) == 11
    assert "more than 10 matches" in outcome.text
    assert len(call("search_context", pattern="wide").text) < 3_000


def test_a_cancelled_search_ends(context: ToolContext, call: Call) -> None:
    cancel = CancelToken()
    stopped = context.with_cancel(cancel)
    cancel.cancel()
    with pytest.raises(Cancelled):
        call("search_context", stopped, pattern="x")


@pytest.mark.skipif(os.name == "nt", reason="names of any bytes")
def test_a_name_that_is_no_utf_8_does_not_break_the_answer(repo: Path, call: Call) -> None:
    (repo / os.fsdecode(b"odd\xff.txt")).write_text("needle\n")
    for outcome in (call("search_context", pattern="needle"), call("list_directory")):
        assert outcome.success
        assert "odd\\xff.txt" in outcome.text
        outcome.text.encode()
    assert "needle" in call("read_file", path="odd\\xff.txt").text


def grep(context: ToolContext, **given: object) -> ToolOutcome:
    return build_ide_tools().call("grep_file", {"projectKey": "p", **given}, context)


def test_grep_file_in_one_file_shows_the_surroundings(context: ToolContext) -> None:
    found = grep(context, pattern="MAIN", relativePath="src/a.py", context_lines=1, limit=1)
    assert found.success
    assert found.text.startswith("## 文件内容搜索: a.py\n\n**匹配数量**: 1\n")
    assert "   2 |   \n   3 >>> def main():\n   4 |       pass" in found.text
    assert (
        "未找到匹配"
        in grep(context, pattern="MAIN", relativePath="src/a.py", case_sensitive=True).text
    )
    nothing = grep(context, pattern="def.*", relativePath="src/a.py")
    assert nothing.success
    assert "未找到匹配" in nothing.text


def test_grep_file_in_one_file_knows_no_limit_and_over_all_files_it_does(
    repo: Path, context: ToolContext
) -> None:
    (repo / "many.txt").write_text("same\n" * 30)
    (repo / "Some.java").write_text("same\n")
    (repo / "a.yml").write_text("same: 1\n")
    one = grep(context, pattern="same", relativePath="many.txt", file_type="java")
    assert len(one.data["matches"]) == 30
    assert len(grep(context, pattern="same").data["matches"]) == 20
    java = grep(context, pattern="same", file_type="java")
    assert [row["path"] for row in java.data["matches"]] == ["Some.java"]
    config = grep(context, pattern="same", file_type="config", regex=True)
    assert [row["path"] for row in config.data["matches"]] == ["a.yml"]
    assert not grep(context, pattern="(", regex=True).success
    assert grep(context, pattern="(", regex=False).success


def test_search_is_our_ranked_search(context: ToolContext, call: Call) -> None:
    asked: list[tuple[str, int]] = []
    hit = Hit(
        indexed_chunk(
            "src/a.py", begin_line=2, end_line=4, begin=11, end=30, symbols=("Session", "close")
        ),
        "def main():\n",
        0.5,
        CHANGED_SINCE_INDEXED,
    )

    def search(query: str, limit: int) -> list[Hit]:
        asked.append((query, limit))
        return [hit] if query == "where is main" else []

    searching = dataclasses.replace(context, search=search)
    found = call("search", searching, query="where is main", limit=5)
    assert found.text == "src/a.py:3-4 Session>close [changed since indexed]\ndef main():"
    assert asked == [("where is main", 5)]
    assert call("search", searching, query="other").text == "No matches found"
    assert not call("search", searching, query=" ").success
    assert not call("search", context, query="x").success


def test_the_clock_is_looked_at_within_a_file_and_within_a_line(
    repo: Path, context: ToolContext, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "one.txt").write_text("ab" * 20_000 + "\n")
    ticks = iter(range(10_000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))
    hurried = dataclasses.replace(context, limits=ToolLimits(timeout_seconds=4.0))
    outcome = call("search_context", hurried, pattern="[ab]*[ab]*[cd]$", path="one.txt")
    assert not outcome.data["complete"]
    assert next(ticks) < 12
