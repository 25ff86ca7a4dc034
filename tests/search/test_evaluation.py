"""Commits become questions with known answers; metrics of the answers."""

import math
from pathlib import Path

import pytest
from codekernel.search.evaluation import (
    EvalQuestion,
    RetrievalMetrics,
    average_metrics,
    clean_commit_message,
    compute_difference,
    compute_metrics,
    mine_questions,
)
from codekernel.search.git_history import Commit, read_commits
from support.git_history import GitHistory


@pytest.fixture
def history(tmp_path: Path) -> GitHistory:
    return GitHistory(tmp_path / "project")


def mine(history: GitHistory, limit: int = 100) -> list[EvalQuestion]:
    def is_indexed(path: str) -> bool:
        return (history.folder / path).is_file()

    return mine_questions(read_commits(history.folder), is_indexed, limit)


def texts(history: GitHistory) -> list[str]:
    return [question.text for question in mine(history)]


def test_a_message_asks_for_the_files_it_changed_newest_first(history: GitHistory) -> None:
    history.commit("Add a cache for parsed headers", {"src/store.py": "x = 1\n"})
    history.commit("Close the socket when a peer vanishes", {"src/net.py": "y = 1\n"})
    found = mine(history)
    assert [(question.text, question.paths) for question in found] == [
        ("Close the socket when a peer vanishes", frozenset({"src/net.py"})),
        ("Add a cache for parsed headers", frozenset({"src/store.py"})),
    ]
    assert len(mine(history, limit=1)) == 1


def test_what_comes_along_with_code_is_not_asked_for(history: GitHistory) -> None:
    files = {"net.py": "x\n", "tests/test_net.py": "x\n", "CHANGELOG.md": "x\n", "uv.lock": "x\n"}
    history.commit("Close the socket when a peer vanishes", files)
    history.commit("Say how sockets are closed", {"README.md": "x\n"})
    history.commit("Try a peer that vanishes twice", {"tests/test_net.py": "y\n"})
    assert [question.paths for question in mine(history)] == [{"tests/test_net.py"}, {"net.py"}]


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
    assert [question.paths for question in mine(history)] == [{"new.py"}]


def test_of_equal_messages_only_the_newest_asks(history: GitHistory) -> None:
    history.commit("Keep the last answer of a peer", {"one.py": "x\n"})
    history.commit("Keep the last answer of a peer", {"two.py": "x\n"})
    assert [question.paths for question in mine(history)] == [{"two.py"}]


def test_it_is_known_whether_a_message_names_its_file(history: GitHistory) -> None:
    history.commit("Make the header parser forgiving", {"header_parser.py": "x\n"})
    history.commit("Accept a colon without a blank", {"header_parser.py": "y\n"})
    assert [question.is_file_named for question in mine(history)] == [False, True]


def test_paths_are_those_below_the_folder_whatever_their_letters(history: GitHistory) -> None:
    name = "inner/\u4f1a \u8bdd\t\u00e9.py"
    history.commit(
        "\u4fee\u590d\u4f1a\u8bdd\u8d85\u65f6\u7684\u95ee\u9898", {name: "x\n", "outer.py": "x\n"}
    )
    (commit,) = read_commits(history.folder / "inner")
    assert commit.paths == (name.removeprefix("inner/"),)
    (question,) = mine(history)
    assert question.text == "\u4fee\u590d\u4f1a\u8bdd\u8d85\u65f6\u7684\u95ee\u9898"


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
def test_a_message_is_stripped_of_what_no_query_has(message: str, question: str) -> None:
    assert (
        clean_commit_message(Commit("1", "Ada", "ada@example.com", message, ("a.py",))) == question
    )


def test_a_file_counts_where_its_first_chunk_stands() -> None:
    found = compute_metrics(["b", "a", "a"], {"a"})
    assert found == RetrievalMetrics(1 / math.log2(3), 1.0, 0.5, 0.0)


def test_all_wanted_files_on_top_are_perfect() -> None:
    assert compute_metrics(["a", "b", "c"], {"a", "b"}) == RetrievalMetrics(1.0, 1.0, 1.0, 1.0)


def test_nothing_found_is_nothing() -> None:
    assert compute_metrics(["c"] * 10 + ["a"], {"a"}) == RetrievalMetrics(0.0, 0.0, 0.0, 0.0)
    assert compute_metrics([], {"a"}) == compute_metrics(["a"], set()) == average_metrics([])


def test_means_are_taken_of_each_figure() -> None:
    both = average_metrics(
        [RetrievalMetrics(1.0, 1.0, 1.0, 1.0), RetrievalMetrics(0.0, 0.5, 0.5, 0.0)]
    )
    assert both == RetrievalMetrics(0.5, 0.75, 0.75, 0.5)


def test_a_difference_that_every_question_shows_is_no_noise() -> None:
    found = compute_difference([0.2, 0.4, 0.3] * 20, [0.3, 0.5, 0.4] * 20)
    assert found.mean == pytest.approx(0.1)
    assert not found.is_noise


def test_a_difference_that_comes_and_goes_is_noise() -> None:
    found = compute_difference([0.0, 1.0] * 20, [1.0, 0.0] * 19 + [1.0, 1.0])
    assert found.low < 0 < found.high
    assert found.is_noise
    assert compute_difference([], []).is_noise


def test_the_same_figures_give_the_same_interval() -> None:
    before, after = [0.1, 0.5, 0.9] * 10, [0.2, 0.4, 0.9] * 10
    assert compute_difference(before, after) == compute_difference(before, after)
