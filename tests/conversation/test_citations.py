from pathlib import Path

import pytest
from codekernel.conversation.citations import parse_citations, verify_citations
from codekernel.domain.turn import CitationState, Excerpt

KNOWN = {"src/session.py", "docs/a b.md", "other/session.py", "src/路由.py"}


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        ("See `src/session.py:3-9`.", ("src/session.py", 3, 9)),
        ("See src/session.py:3-9, then", ("src/session.py", 3, 9)),
        ("It is src/session.py:3-9.", ("src/session.py", 3, 9)),
        ("It is src/session.py:3.", ("src/session.py", 3, 3)),
        ("(src/session.py:3)", ("src/session.py", 3, 3)),
        ("[src/session.py:L3-L9](x)", ("src/session.py", 3, 9)),
        ("./src/session.py:3\u20139", ("src/session.py", 3, 9)),
        ("`docs/a b.md:1-2`", ("docs/a b.md", 1, 2)),
        ("见 src/路由.py:1-2。", ("src/路由.py", 1, 2)),
        ("**src/session.py:3-9**", ("src/session.py", 3, 9)),
        ("lib/unknown.py:1-2", ("lib/unknown.py", 1, 2)),
        ("session.py:1-2", ("session.py", 1, 2)),
    ],
)
def test_a_place_is_found_however_it_is_written(answer: str, place: tuple[str, int, int]) -> None:
    (found,) = parse_citations(answer, KNOWN)
    assert (found.path, found.begin, found.end) == place


@pytest.mark.parametrize(
    "answer",
    [
        "at 12:30-13:00",
        "localhost:8080",
        "http://127.0.0.1:80/",
        "example.com:443",
        "a: 1-2",
        "v:1.2",
    ],
)
def test_what_is_no_place_is_not_taken_for_one(answer: str) -> None:
    assert parse_citations(answer, KNOWN) == []


def test_each_place_is_reported_once() -> None:
    assert len(parse_citations("src/session.py:1-2 and `src/session.py:1-2`", KNOWN)) == 1


LINES = [f"line {number}\n" for number in range(1, 21)]


def excerpt(begin: int, end: int) -> Excerpt:
    """Lines as people count them, the last included."""
    content = "".join(LINES[begin - 1 : end])
    return Excerpt("a.py", begin - 1, end, content, "", 0.5, 1)


def verify(root: Path, lines: str, on_disk: str) -> tuple[CitationState, int | None, int | None]:
    (root / "a.py").write_text(on_disk, encoding="utf-8")
    (found,) = verify_citations(f"`a.py:{lines}`", [excerpt(5, 12)], root)
    return found.holds, found.now_begin, found.now_end


def test_lines_that_are_as_they_were_shown_are_verified(tmp_path: Path) -> None:
    same = "".join(LINES)
    assert verify(tmp_path, "5-12", same) == (CitationState.VERIFIED, None, None)
    assert verify(tmp_path, "6", same) == (CitationState.VERIFIED, None, None)
    assert verify(tmp_path, "3-8", same) == (CitationState.VERIFIED, None, None)
    assert verify(tmp_path, "6-7", same.replace("line 20", "new")) == (
        CitationState.VERIFIED,
        None,
        None,
    )
    assert verify(tmp_path, "6-7", same.replace("\n", "\r\n")) == (
        CitationState.VERIFIED,
        None,
        None,
    )


def test_lines_that_have_moved_are_found(tmp_path: Path) -> None:
    assert verify(tmp_path, "6-8", "new\nnew\n" + "".join(LINES)) == (CitationState.MOVED, 8, 10)
    assert verify(tmp_path, "6-8", "".join(LINES[3:])) == (CitationState.MOVED, 3, 5)


def test_lines_that_are_gone_or_were_never_shown_are_stale(tmp_path: Path) -> None:
    same = "".join(LINES)
    assert verify(tmp_path, "6-8", same.replace("line 7", "new"))[0] is CitationState.STALE
    assert verify(tmp_path, "15-18", same)[0] is CitationState.STALE
    assert verify(tmp_path, "5-400", same)[0] is CitationState.STALE
    assert verify(tmp_path, "9-6", same)[0] is CitationState.STALE
    (tmp_path / "a.py").unlink()
    (found,) = verify_citations("a.py:6-7", [excerpt(5, 12)], tmp_path)
    assert found.holds is CitationState.STALE
    (found,) = verify_citations("b/b.py:6-7", [excerpt(5, 12)], tmp_path)
    assert found.holds is CitationState.STALE
    assert "not among" in found.reason


def test_no_answer_and_no_edited_history_can_make_us_read_outside(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("line 1\n", encoding="utf-8")
    root = tmp_path / "repo"
    root.mkdir()
    for path in ("../secret.py", str(tmp_path / "secret.py")):
        shown = Excerpt(path, 0, 1, "line 1\n", "", 0.5, 1)
        (found,) = verify_citations(f"`{path}:1`", [shown], root)
        assert found.holds is CitationState.STALE
