"""Commits of real repositories become questions with known answers."""

from itertools import islice
from pathlib import Path

import pytest
from codekernel.search.evaluation import EvalQuestion, clean_commit_message, mine_questions
from codekernel.search.git_history import Commit, HistoryUnavailable, read_commits
from support.git_history import GitHistory


@pytest.fixture
def history(tmp_path: Path) -> GitHistory:
    return GitHistory(tmp_path / "project")


def asked(history: GitHistory, most: int = 100) -> list[EvalQuestion]:
    def is_there(path: str) -> bool:
        return (history.folder / path).is_file()

    return mine_questions(read_commits(history.folder), is_there, most)


def texts(history: GitHistory) -> list[str]:
    return [question.text for question in asked(history)]


def test_a_message_asks_for_the_files_it_changed_newest_first(history: GitHistory) -> None:
    history.commit("Add a cache for parsed headers", {"src/store.py": "x = 1\n"})
    history.commit("Close the socket when a peer vanishes", {"src/net.py": "y = 1\n"})
    found = asked(history)
    assert [(question.text, question.paths) for question in found] == [
        ("Close the socket when a peer vanishes", {"src/net.py"}),
        ("Add a cache for parsed headers", {"src/store.py"}),
    ]
    assert len(asked(history, most=1)) == 1


def test_what_comes_along_with_code_is_not_asked_for(history: GitHistory) -> None:
    files = {"net.py": "x\n", "tests/test_net.py": "x\n", "CHANGELOG.md": "x\n", "uv.lock": "x\n"}
    history.commit("Close the socket when a peer vanishes", files)
    history.commit("Say how sockets are closed", {"README.md": "x\n"})
    history.commit("Try a peer that vanishes twice", {"tests/test_net.py": "y\n"})
    assert [question.paths for question in asked(history)] == [{"tests/test_net.py"}, {"net.py"}]


def test_commits_that_ask_for_nothing_are_left_out(history: GitHistory) -> None:
    history.commit("Import the whole code base at once", {f"f{n}.py": "x\n" for n in range(9)})
    history.commit("Keep the last answer of a peer", {"f1.py": "def one(a):\n  return a\n"})
    history.commit('Revert "Keep the last answer of a peer"', {"f1.py": "x\n"})
    history.commit("Bump version to 1.2.3", {"f2.py": "v\n"})
    history.commit("Release version 2 of this package", {"f2.py": "w\n"})
    history.commit("v1.2.3", {"f2.py": "w2\n"})
    history.commit("Run black over the whole project", {"f3.py": "v\n"})
    history.commit("Fix typos in comments of the parser", {"f3.py": "w\n"})
    history.commit("fix tests", {"f4.py": "v\n"})
    robot = "dependabot[bot] <49699333+dependabot[bot]@users.noreply.github.com>"
    history.commit("Use the newer http client everywhere", {"f5.py": "v\n"}, author=robot)
    assert texts(history) == ["Keep the last answer of a peer"]


def test_merges_and_changes_of_white_space_alone_are_left_out(history: GitHistory) -> None:
    history.commit("Keep the last answer of a peer", {"net.py": "def a():\n    return 1\n"})
    history.git("checkout", "--quiet", "-b", "side")
    history.commit("Indent what is returned by peers", {"net.py": "def a():\n        return 1\n"})
    history.git("checkout", "--quiet", "main")
    history.commit("Close the socket when a peer vanishes", {"socket.py": "x\n"})
    history.git("merge", "--quiet", "--no-ff", "--message", "Bring the side back home", "side")
    assert texts(history) == [
        "Close the socket when a peer vanishes",
        "Keep the last answer of a peer",
    ]


def test_files_that_are_gone_are_not_asked_for(history: GitHistory) -> None:
    history.commit("Keep the last answer of a peer", {"old.py": "x\n"})
    history.commit("Close the socket when a peer vanishes", {"new.py": "x\n", "old.py": "y\n"})
    history.commit("Throw away what nobody uses", {"old.py": None})
    assert [question.paths for question in asked(history)] == [{"new.py"}]


def test_of_equal_messages_only_the_newest_asks(history: GitHistory) -> None:
    history.commit("Keep the last answer of a peer", {"one.py": "x\n"})
    history.commit("Keep the last answer of a peer", {"two.py": "x\n"})
    assert [question.paths for question in asked(history)] == [{"two.py"}]


def test_it_is_known_whether_a_message_names_its_file(history: GitHistory) -> None:
    history.commit("Make the header parser forgiving", {"header_parser.py": "x\n"})
    history.commit("Accept a colon without a blank", {"header_parser.py": "y\n"})
    assert [question.is_file_named for question in asked(history)] == [False, True]


def test_paths_are_those_below_the_folder_whatever_their_letters(history: GitHistory) -> None:
    name = "inner/\u4f1a \u8bdd\t\u00e9.py"
    history.commit(
        "\u4fee\u590d\u4f1a\u8bdd\u8d85\u65f6\u7684\u95ee\u9898", {name: "x\n", "outer.py": "x\n"}
    )
    (commit,) = read_commits(history.folder / "inner")
    assert commit.paths == (name.removeprefix("inner/"),)
    (question,) = asked(history)
    assert question.text == "\u4fee\u590d\u4f1a\u8bdd\u8d85\u65f6\u7684\u95ee\u9898"


def test_reading_may_stop_early_and_changes_nothing(history: GitHistory) -> None:
    for number in range(3):
        history.commit(f"Keep the last {number} answers of a peer", {"net.py": f"{number}\n"})
    before = sorted(path.as_posix() for path in history.folder.rglob("*"))
    newest = list(islice(read_commits(history.folder), 1))
    assert newest[0].message == "Keep the last 2 answers of a peer\n"
    assert sorted(path.as_posix() for path in history.folder.rglob("*")) == before


def test_a_folder_without_history_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(HistoryUnavailable, match="not in a git repository"):
        list(read_commits(tmp_path))
    empty = GitHistory(tmp_path / "empty")
    with pytest.raises(HistoryUnavailable, match="no commits yet"):
        list(read_commits(empty.folder))


def test_without_git_a_sentence_says_so(
    history: GitHistory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    history.commit("Keep the last answer of a peer", {"net.py": "x\n"})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HistoryUnavailable, match="git is not installed"):
        list(read_commits(history.folder))


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("feat(net)!: keep the last answer (#12)", "keep the last answer"),
        ("[ABC-12] Keep the last answer", "Keep the last answer"),
        ("ABC-12: keep the last answer", "keep the last answer"),
        ("Keep the answer, fixes #12", "Keep the answer"),
        ("Keep it as UTF-8 with SHA-256", "Keep it as UTF-8 with SHA-256"),
        ("Keep std::string as it is", "Keep std::string as it is"),
        ("Keep the\nlast answer\nSigned-off-by: Ada <a@b>\n", "Keep the last answer"),
        ("Keep it\n\nA body that explains.\n\nCo-authored-by: Bob <b@c>\n", "Keep it"),
        ('Say "gone" with path:src no more', "Say gone with src no more"),
        (":sparkles: Keep the last answer", "Keep the last answer"),
        ("", ""),
        ("#12", ""),
    ],
)
def test_a_message_is_freed_of_what_nobody_would_type(message: str, question: str) -> None:
    assert (
        clean_commit_message(Commit("1", "Ada", "ada@example.com", message, ("a.py",))) == question
    )
