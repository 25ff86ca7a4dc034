"""Learned weights lie beside the index; a file that cannot be believed changes nothing."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from codekernel.domain.index import Signal
from codekernel.search.pipeline import Searcher
from codekernel.search.ranking_weights import (
    DEFAULT_WEIGHTS,
    MAX_FACTOR,
    WEIGHTS_FILE,
    RankingWeights,
    delete_weights,
    read_weights,
    write_weights,
)
from support.searched_repository import open_searcher

FILES = {
    "socket.py": "def shut():\n    peer.done()\n",
    "net.py": "def close_peer(socket):\n    socket.close()\n    socket.close()\n",
}

QUESTION = "how to close the socket of a peer"


def explain(searcher: Searcher) -> dict[str, dict[Signal, float]]:
    hits = searcher.search(QUESTION, 10)
    for hit in hits:
        assert hit.score / (1 - hit.score) == pytest.approx(sum(hit.signals.values()))
    return {hit.chunk.path: dict(hit.signals) for hit in hits}


def test_weights_are_read_as_they_were_written_and_deleted_for_good(tmp_path: Path) -> None:
    weights = RankingWeights(semantic=0.5, file_name=2.0)
    write_weights(tmp_path, weights)
    assert read_weights(tmp_path) == weights
    delete_weights(tmp_path)
    delete_weights(tmp_path)
    assert read_weights(tmp_path) == DEFAULT_WEIGHTS
    assert list(tmp_path.iterdir()) == []


def change_version(content: dict[str, object]) -> object:
    return {**content, "version": 2}


def leave_one_out(content: dict[str, object]) -> object:
    return {**content, "weights": {"semantic": 1.0}}


def exaggerate(content: dict[str, object]) -> object:
    return json.loads(json.dumps(content).replace("1.0", str(2 * MAX_FACTOR)))


def empty(_content: dict[str, object]) -> object:
    return []


@pytest.mark.parametrize("damage", [change_version, leave_one_out, exaggerate, empty])
def test_a_file_with_other_content_is_as_good_as_none(
    tmp_path: Path, damage: Callable[[dict[str, object]], object]
) -> None:
    write_weights(tmp_path, RankingWeights(semantic=0.5))
    file = tmp_path / WEIGHTS_FILE
    file.write_text(json.dumps(damage(json.loads(file.read_bytes()))), encoding="utf-8")
    assert read_weights(tmp_path) == DEFAULT_WEIGHTS


def test_a_torn_file_is_as_good_as_none(tmp_path: Path) -> None:
    write_weights(tmp_path, RankingWeights(semantic=0.5))
    file = tmp_path / WEIGHTS_FILE
    file.write_bytes(file.read_bytes()[:20])
    assert read_weights(tmp_path) == DEFAULT_WEIGHTS


def test_a_search_uses_the_weights_at_once_and_the_parts_of_a_score_still_add_up(
    tmp_path: Path,
) -> None:
    with open_searcher(tmp_path / "repo", FILES) as searcher:
        before = explain(searcher)
        folder = searcher.index.store.folder
        write_weights(folder, RankingWeights(file_name=0.5))
        halved = explain(searcher)
        delete_weights(folder)
        assert explain(searcher) == before
    one, other = before["socket.py"], halved["socket.py"]
    assert other[Signal.FILE_NAME] == pytest.approx(one[Signal.FILE_NAME] / 2)
    assert other[Signal.LEXICAL] == one[Signal.LEXICAL]


def test_a_name_is_ranked_as_everywhere(tmp_path: Path) -> None:
    with open_searcher(tmp_path / "repo", FILES) as searcher:
        before = searcher.search("close_peer", 10)
        write_weights(searcher.index.store.folder, RankingWeights(0.25, 0.25, 0.25, 0.25, 0.25))
        assert searcher.search("close_peer", 10) == before
