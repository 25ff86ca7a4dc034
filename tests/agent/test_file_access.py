import dataclasses
import hashlib
import json
import os
from pathlib import Path

import pytest
from agent.calling import Call
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tool_policy import ToolLimits
from codekernel.agent.tools.toolsets import build_ide_tools

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX pipes and links")

TEN = "".join(f"line {number}\n" for number in range(1, 11))


@pytest.fixture
def ten(repo: Path) -> Path:
    (repo / "ten.txt").write_text(TEN)
    return repo / "ten.txt"


def lines(first: int, last: int) -> str:
    return "".join(f"line {number}\n" for number in range(first, last + 1))


@pytest.mark.parametrize(
    ("window", "shown"),
    [
        ({}, lines(1, 10)),
        ({"start_line": 2, "end_line": 4}, lines(2, 4)),
        ({"start_line": 8}, lines(8, 10)),
        ({"end_line": 3}, lines(1, 10)),  # ignored without a beginning
        ({"start_line": -5, "end_line": 2}, lines(1, 2)),
        ({"start_line": 0}, lines(1, 10)),
        ({"start_line": 9, "end_line": 99}, lines(9, 10)),
        ({"start_line": 5, "end_line": 2}, lines(5, 5)),
        ({"start_line": 11}, ""),
        ({"start_line": 99, "end_line": 100}, ""),
    ],
)
def test_a_window_is_what_document_001_says(
    ten: Path, call: Call, window: dict[str, int], shown: str
) -> None:
    outcome = call("read_file", path="ten.txt", **window)
    assert outcome.success
    assert outcome.text == shown


@pytest.mark.parametrize(
    ("most", "shown"), [(0, ""), (1, "a"), (3, "a"), (4, "a\u4e2d"), (99, None)]
)
def test_max_bytes_cuts_no_character(most: int, shown: str | None, repo: Path, call: Call) -> None:
    text = "a\u4e2d\u6587\U0001f600 end\n"
    (repo / "a.txt").write_text(text, encoding="utf-8")
    assert call("read_file", path="a.txt", max_bytes=most).text == (
        text if shown is None else shown
    )


def test_metadata_is_of_the_whole_file_whatever_the_window(ten: Path, call: Call) -> None:
    os.utime(ten, (1_700_000_000, 1_700_000_000))
    outcome = call("read_file", path="ten.txt", start_line=2, end_line=3, with_metadata=True)
    metadata = json.loads(outcome.text)
    assert metadata["path"] == str(ten.resolve())
    assert metadata["total_lines"] == 10
    assert metadata["sha256"] == hashlib.sha256(TEN.encode()).hexdigest()
    assert metadata["content"] == lines(2, 3)
    assert metadata["mtime"].startswith("2023-11-1")
    assert list(metadata) == ["path", "total_lines", "mtime", "sha256", "content"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"one\r\ntwo\r\n", "one\ntwo\n"),
        (b"\xef\xbb\xbfbom\n", "bom\n"),
        ("caf\u00e9\n".encode("utf-16"), "caf\u00e9\n"),
        ("\u4e2d\u6587\u6587\u4ef6\uff0c\u4f60\u597d\u3002\n".encode("gb18030") * 4,
         "\u4e2d\u6587\u6587\u4ef6\uff0c\u4f60\u597d\u3002\n" * 4),
        (("\u4e2d" * 50).encode() + b"\xff\n", "\u4e2d" * 50 + "\ufffd\n"),
    ],
)  # fmt: skip
def test_text_is_read_in_whatever_encoding(data: bytes, text: str, repo: Path, call: Call) -> None:
    (repo / "a.txt").write_bytes(data)
    assert call("read_file", path="a.txt").text == text


def test_what_is_no_text_is_refused_with_a_reason(repo: Path, call: Call) -> None:
    (repo / "a.bin").write_bytes(bytes(range(256)) * 100)
    (repo / "folder").mkdir()
    for path, why in {
        "a.bin": "binary",
        "folder": "is a folder",
        "missing.txt": "File not found: missing.txt",
    }.items():
        outcome = call("read_file", path=path)
        assert not outcome.success
        assert why in outcome.text


@posix_only
def test_a_pipe_is_not_waited_for(repo: Path, call: Call) -> None:
    os.mkfifo(repo / "pipe")
    assert not call("read_file", path="pipe").success
    assert not call("edit_file", path="pipe", mode="append", content="x").success
    assert not call("search_context", pattern="x", path="pipe").success
    assert call("search_context", pattern="x").text == "No matches found"


def test_a_huge_file_is_refused_and_a_long_one_read_in_windows(
    repo: Path, context: ToolContext, call: Call
) -> None:
    small = _limited(context, ToolLimits(max_file_bytes=1_000, max_output_characters=100))
    (repo / "huge.txt").write_text("x" * 1_001)
    (repo / "long.txt").write_text(TEN * 2)
    huge = call("read_file", small, path="huge.txt")
    assert not huge.success
    assert "too large" in huge.text
    assert not call("edit_file", small, path="huge.txt", mode="append", content="x").success
    assert "start_line" in call("read_file", small, path="long.txt").text
    assert call("read_file", small, path="long.txt", start_line=1, end_line=2).text == lines(1, 2)


def _limited(context: ToolContext, limits: ToolLimits) -> ToolContext:
    return dataclasses.replace(context, limits=limits)


@pytest.mark.parametrize(
    ("window", "numbers", "marked"),
    [
        ({}, range(1, 11), None),
        ({"start_line": 3, "end_line": 5}, range(3, 6), None),
        ({"start_line": 3}, range(1, 11), None),  # one alone is ignored
        ({"end_line": 3}, range(1, 11), None),
        ({"start_line": 8, "end_line": 99}, range(8, 11), None),
        ({"line": 5, "context_lines": 1}, range(4, 7), 5),
        ({"line": 1, "context_lines": 2}, range(1, 4), 1),
        ({"line": 5}, range(1, 11), 5),
    ],
)
def test_a_window_is_what_document_002_says(
    ten: Path, context: ToolContext, window: dict[str, int], numbers: range, marked: int | None
) -> None:
    given = {"relativePath": "ten.txt", "projectKey": "p", **window}
    outcome = build_ide_tools().call("read_file", given, context)
    assert outcome.success
    body = outcome.text.partition("```\n")[2].removesuffix("\n```")
    gutter = {number: " >>> " if number == marked else " |   " for number in numbers}
    assert body.split("\n") == [f"{n:4d}{gutter[n]}line {n}" for n in numbers]


def test_a_missing_file_is_said_in_the_words_of_document_002(
    context: ToolContext,
) -> None:
    ide = build_ide_tools()
    for tool, rest in (
        ("read_file", {}),
        ("grep_file", {"pattern": "x"}),
        ("apply_change", {"searchContent": "a", "replaceContent": "b"}),
    ):
        outcome = ide.call(tool, {"relativePath": "core/src/File.java", **rest}, context)
        assert outcome == ToolOutcome(success=False, text="文件不存在: core/src/File.java")
    assert not ide.call("read_file", {"projectKey": "p"}, context).success
