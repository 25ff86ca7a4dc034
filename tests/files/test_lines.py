import os
from pathlib import Path

import pytest
from codekernel.errors import InvalidPath
from codekernel.files import reading
from codekernel.files.reading import LineRange, read_lines

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX files and links")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_bytes(b"zero\none\r\ntwo\rtwo\nthree")
    return folder


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of more than 64 bytes count as too large to be loaded, and are read in small blocks."""
    monkeypatch.setattr(reading, "MAX_LOADED_BYTES", 64)
    monkeypatch.setattr(reading, "_BLOCK_BYTES", 7)


@pytest.mark.parametrize(
    ("begin", "end", "content", "shown"),
    [
        (0, 1, "zero\n", (0, 1)),
        (1, 3, "one\r\ntwo\rtwo\n", (1, 3)),
        (3, 4, "three", (3, 4)),
        (2, 99, "two\rtwo\nthree", (2, 4)),
        (4, 9, "", (4, 4)),
        (99, 100, "", (4, 4)),
        (2, 2, "", (2, 2)),
    ],
)
def test_lines_are_those_that_the_index_counts(
    root: Path, begin: int, end: int, content: str, shown: tuple[int, int]
) -> None:
    assert read_lines(root, "src/a.py", begin, end) == LineRange(content, *shown, 4)


def test_a_newline_at_the_end_begins_no_line(root: Path) -> None:
    (root / "b.py").write_text("one\ntwo\n", encoding="utf-8")
    assert read_lines(root, "b.py", 0, 9) == LineRange("one\ntwo\n", 0, 2, 2)
    (root / "blank.py").write_text("\n\n", encoding="utf-8")
    assert read_lines(root, "blank.py", 1, 2) == LineRange("\n", 1, 2, 2)
    (root / "empty.py").write_bytes(b"")
    assert read_lines(root, "empty.py", 0, 5) == LineRange("", 0, 0, 0)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gb18030", "shift-jis"])
def test_a_file_is_decoded_as_the_index_decodes_it(root: Path, encoding: str) -> None:
    text = "# これは日本語の説明です。\n" if encoding == "shift-jis" else "# 这是中文的说明文字。\n"
    (root / "c.py").write_bytes((text * 8).encode(encoding))
    assert read_lines(root, "c.py", 0, 1).content == text
    assert read_lines(root, "c.py", 7, 8).content == text


@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "src/../../secret.txt", "/etc/hostname", "a\0b", "..", "\ud800.py"],
)
def test_nothing_outside_is_read(root: Path, path: str) -> None:
    (root.parent / "secret.txt").write_text("secret\n", encoding="utf-8")
    with pytest.raises(InvalidPath, match=r"leads out|no path"):
        read_lines(root, path, 0, 1)


@pytest.mark.parametrize("path", ["src/../src/a.py", "./src/a.py", "src//a.py"])
def test_a_roundabout_way_to_a_file_inside_is_no_matter(root: Path, path: str) -> None:
    assert read_lines(root, path, 0, 1).content == "zero\n"


@posix_only
def test_links_are_followed_inside_and_not_outside(root: Path) -> None:
    (root.parent / "secret.txt").write_text("secret\n", encoding="utf-8")
    (root / "out.py").symlink_to(root.parent / "secret.txt")
    (root / "folder").symlink_to(root.parent)
    (root / "in.py").symlink_to("src/a.py")
    (root / "loop.py").symlink_to("loop.py")
    assert read_lines(root, "in.py", 0, 1).content == "zero\n"
    for path in ("out.py", "folder/secret.txt"):
        with pytest.raises(InvalidPath, match="leads out"):
            read_lines(root, path, 0, 1)
    with pytest.raises(InvalidPath, match="cannot be read"):
        read_lines(root, "loop.py", 0, 1)


@posix_only
def test_a_root_that_is_a_link_is_the_folder_it_leads_to(root: Path) -> None:
    (root.parent / "link").symlink_to(root)
    assert read_lines(root.parent / "link", "src/a.py", 0, 1).content == "zero\n"


@posix_only
def test_what_is_no_file_is_neither_opened_nor_waited_for(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(InvalidPath, match="not a file"):
        read_lines(root, "pipe", 0, 1)


@pytest.mark.parametrize(
    ("path", "reason"),
    [("gone.py", "no file gone.py"), ("src/a.py/x", "no file"), ("src", "a folder"),
     ("", "a folder"), ("image.png", "is binary"), ("odd.dat", "no encoding")],
)  # fmt: skip
def test_what_has_no_lines_says_why(root: Path, path: str, reason: str) -> None:
    (root / "image.png").write_bytes(b"\x89PNG\0\0\0\1" * 50)
    (root / "odd.dat").write_bytes(bytes(range(1, 32)) * 50 + b"\xff")
    with pytest.raises(InvalidPath, match=reason):
        read_lines(root, path, 0, 1)


def test_no_more_lines_and_characters_are_given_than_a_page_can_show(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "long.py").write_text("x\n" * 5000, encoding="utf-8")
    found = read_lines(root, "long.py", 1000, 5000)
    assert (found.begin, found.end, found.line_count) == (1000, 3000, 5000)
    assert found.content == "x\n" * 2000
    monkeypatch.setattr(reading, "MAX_LINES_CHARS", 5)
    assert read_lines(root, "long.py", 0, 9) == LineRange("x\nx\n", 0, 2, 5000)
    (root / "wide.py").write_text("0123456789\nab\n", encoding="utf-8")
    assert read_lines(root, "wide.py", 0, 2) == LineRange("01234", 0, 1, 2)


@pytest.mark.parametrize("text", ["zwölf und 一二\n", "x\n", "\n", "no end\r\n\n"])
@pytest.mark.parametrize("ended", [True, False])
def test_a_large_file_is_looked_through_with_the_same_result(
    root: Path, monkeypatch: pytest.MonkeyPatch, text: str, *, ended: bool
) -> None:
    content = text * 90 + ("" if ended else "end")
    (root / "large.py").write_bytes(content.encode())
    places = [(0, 1), (0, 50), (1, 2), (17, 60), (89, 90), (89, 400), (90, 91), (300, 301)]
    expected = [read_lines(root, "large.py", *place) for place in places]
    monkeypatch.setattr(reading, "MAX_LOADED_BYTES", 64)
    monkeypatch.setattr(reading, "_BLOCK_BYTES", 7)
    assert [read_lines(root, "large.py", *place) for place in places] == expected


@pytest.mark.usefixtures("small")
def test_of_a_large_file_a_mark_at_its_beginning_is_not_shown(root: Path) -> None:
    (root / "marked.py").write_bytes(b"\xef\xbb\xbf" + b"line\n" * 40)
    assert read_lines(root, "marked.py", 0, 2).content == "line\nline\n"
    assert read_lines(root, "marked.py", 1, 2).content == "line\n"


@pytest.mark.usefixtures("small")
def test_a_large_file_that_would_have_to_be_decoded_whole_is_refused(root: Path) -> None:
    (root / "wide.py").write_bytes(("line\n" * 40).encode("utf-16"))
    with pytest.raises(InvalidPath, match="open it in an editor"):
        read_lines(root, "wide.py", 0, 2)


@pytest.mark.usefixtures("small")
def test_a_large_binary_file_is_refused(root: Path) -> None:
    (root / "data.bin").write_bytes(b"\0\1\2\3" * 1000)
    with pytest.raises(InvalidPath, match="is binary"):
        read_lines(root, "data.bin", 0, 2)
