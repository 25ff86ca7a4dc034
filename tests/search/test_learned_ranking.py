"""Trees read the signals of files; what they add to a score is a part of it like others."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from codekernel.domain.index import Signal
from codekernel.search import learned_ranking
from codekernel.search.filters import NO_FILTERS
from codekernel.search.learned_ranking import (
    FEATURES,
    MAX_LEARNED_FILES,
    Forest,
    Tree,
    list_file_signals,
    load_forest,
    rank_by_trees,
)
from codekernel.search.pipeline import (
    CANDIDATES,
    RetrievedQuestion,
    rank_question,
    retrieve_question,
)
from codekernel.search.query_parser import parse_query
from codekernel.search.ranking import RankedChunk
from codekernel.search.ranking_weights import DEFAULT_WEIGHTS
from support.searched_repository import open_searcher

QUESTION = "how to close the socket of a peer"

FILES = {
    "socket.py": "def shut():\n    peer.done()\n",
    "net.py": "def close_peer(socket):\n    socket.close()\n    socket.close()\n",
    **{f"part{n}.py": f"peer = {n}\n" for n in range(MAX_LEARNED_FILES + 5)},
}


@contextmanager
def ask(root: Path) -> Iterator[tuple[RetrievedQuestion, list[RankedChunk]]]:
    with open_searcher(root / "repo", FILES) as searcher:
        found = retrieve_question(searcher.index, parse_query(QUESTION), NO_FILTERS, CANDIDATES)
        assert found
        yield found, list(rank_question(found, DEFAULT_WEIGHTS).chunks)


SMALL: Tree = ((0, 0.5, 1, 2), (-1, 1.0, 0, 0), (1, 2.0, 3, 4), (-1, 2.0, 0, 0), (-1, 3.0, 0, 0))


def descend(tree: Tree, values: Sequence[float]) -> float:
    """The value of a leaf, found row by row."""
    feature, threshold, left, right = tree[0]
    while feature >= 0:
        feature, threshold, left, right = tree[left if values[feature] <= threshold else right]
    return threshold


def test_a_tree_is_followed_to_the_leaf_of_its_values() -> None:
    assert Forest([SMALL]).rate([[0.5, 9.0], [0.6, 2.0], [0.6, 2.1]]) == [1.0, 2.0, 3.0]


def test_what_all_trees_say_is_added_up() -> None:
    other: Tree = ((1, 2.0, 1, 2), (-1, 10.0, 0, 0), (-1, 20.0, 0, 0))
    assert Forest([SMALL, other, SMALL]).rate([[0.5, 9.0], [0.6, 2.0]]) == [22.0, 14.0]


def test_every_tree_of_the_package_ends_in_leaves_and_reads_features_that_there_are() -> None:
    trees = read_trees()
    for tree in trees:
        for place, (feature, _, left, right) in enumerate(tree):
            assert feature < len(FEATURES)
            assert feature < 0 or place < left < right < len(tree)
    drawn = Random(3)  # noqa: S311 - no secret
    limits = sorted(node[1] for tree in trees for node in tree if node[0] >= 0)
    files = [drawn.choices(limits, k=len(FEATURES)) for _ in range(50)]
    said = [sum(descend(tree, values) for tree in trees) for values in files]
    assert load_forest().rate(files) == said


def read_trees() -> list[Tree]:
    file = Path(learned_ranking.__file__).with_suffix(".json")
    trees: list[Tree] = json.loads(file.read_text("utf-8"))["trees"]
    return trees


def test_each_of_the_first_files_has_a_value_for_each_feature(tmp_path: Path) -> None:
    with ask(tmp_path) as (found, ranked):
        files = list(list_file_signals(found.query, found.candidates, ranked, MAX_LEARNED_FILES))
    assert len(files) == MAX_LEARNED_FILES
    assert all(len(values) == len(FEATURES) for _, values in files)
    values = dict(zip(FEATURES, dict(files)["socket.py"], strict=True))
    assert values["file_name_precision"] == 1.0
    assert 0 < values["file_name_coverage"] < 1
    assert values["kind_factor"] == values["is_code"] == 1.0


def test_what_the_trees_add_is_a_part_of_the_score(tmp_path: Path) -> None:
    with open_searcher(tmp_path / "repo", FILES) as searcher:
        hits = searcher.search(QUESTION, 10)
    assert any(hit.signals.get(Signal.LEARNED) for hit in hits)
    for hit in hits:
        assert hit.score / (1 - hit.score) == pytest.approx(sum(hit.signals.values()))


def test_files_behind_the_first_ones_keep_their_scores(tmp_path: Path) -> None:
    with ask(tmp_path) as (found, ranked):
        learned = rank_by_trees(found.query, found.candidates, ranked)
        read = list_file_signals(found.query, found.candidates, ranked, MAX_LEARNED_FILES)
        first = {path for path, _ in read}
    before = {each.chunk.path: each.score for each in ranked}
    after = {each.chunk.path: each.score for each in learned}
    behind = before.keys() - first
    assert len(behind) >= len(FILES) - MAX_LEARNED_FILES
    assert {path: after[path] for path in behind} == {path: before[path] for path in behind}
    assert all(after[path] >= before[path] for path in first)


def test_a_name_is_no_matter_of_what_was_learned(tmp_path: Path) -> None:
    with open_searcher(tmp_path / "repo", FILES) as searcher:
        hits = searcher.search("close_peer", 10)
    assert not any(Signal.LEARNED in hit.signals for hit in hits)
