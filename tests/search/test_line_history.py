"""The commits behind lines, of the file as it is on disk."""

from pathlib import Path

import pytest
from codekernel.search.git_history import HistoryUnavailable
from codekernel.search.line_history import LineHistory, read_line_history
from support.git_history import GitHistory

FIRST = "one\ntwo\nthree\nfour\n"


@pytest.fixture
def history(tmp_path: Path) -> GitHistory:
    history = GitHistory(tmp_path / "project")
    history.commit("add numbers", {"src/old.txt": FIRST})
    history.commit("two is better\n\nBecause.\n", {"src/old.txt": FIRST.replace("two", "TWO")})
    history.git("mv", "src/old.txt", "src/new.txt")
    history.commit("rename", {})
    return history


def subjects(found: LineHistory) -> list[str]:
    return [commit.subject for commit in found.commits]


def test_lines_are_followed_through_a_rename(history: GitHistory) -> None:
    found = read_line_history(history.folder, "src/new.txt", (2, 2))
    assert subjects(found) == ["two is better", "add numbers"]
    assert found.commits[0].body == "Because."
    assert [commit.lines for commit in found.commits] == [(2,), ()]
    assert (found.has_more, found.uncommitted, found.remarks) == (False, (), ())


def test_a_file_is_followed_through_a_rename(history: GitHistory) -> None:
    found = read_line_history(history.folder, "src/new.txt")
    assert subjects(found) == ["rename", "two is better", "add numbers"]


def test_a_folder_of_the_repository_is_enough(history: GitHistory) -> None:
    assert subjects(read_line_history(history.folder / "src", "new.txt", (2, 2)))


def test_lines_of_a_changed_file_are_those_on_disk(history: GitHistory) -> None:
    file = history.folder / "src/new.txt"
    file.write_text("zero\n" + FIRST.replace("two", "TWO"))
    found = read_line_history(history.folder, "src/new.txt", (1, 3))
    assert found.uncommitted == (1,)
    assert subjects(found) == ["two is better", "add numbers"]
    assert {line for commit in found.commits for line in commit.lines} == {2, 3}
    new = read_line_history(history.folder, "src/new.txt", (1, 1))
    assert (new.commits, new.uncommitted) == ((), (1,))


def test_commits_are_as_many_as_are_wanted(history: GitHistory) -> None:
    found = read_line_history(history.folder, "src/new.txt", (1, 4), limit=1)
    assert (subjects(found), found.has_more) == (["two is better"], True)


def test_a_shallow_clone_says_so(history: GitHistory, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    history.git("clone", "--quiet", "--depth", "1", history.folder.as_uri(), str(clone))
    found = read_line_history(clone, "src/new.txt", (2, 2))
    assert found.remarks == ("this clone is shallow: older commits are not here",)


def test_what_has_no_history_is_named(history: GitHistory, tmp_path: Path) -> None:
    (history.folder / "new.py").write_text("x\n")
    with pytest.raises(HistoryUnavailable, match=r"new\.py"):
        read_line_history(history.folder, "new.py", (1, 1))
    with pytest.raises(HistoryUnavailable, match="not in a git repository"):
        read_line_history(tmp_path, "x")
