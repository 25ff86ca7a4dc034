"""The reranker that comes with codekernel says what it said when it was made."""

import json
import math

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Performance
from codekernel.inference.model_pool import ModelPool
from codekernel.settings.local_models import RERANKER_MODEL, get_bundled_folder

FOLDER = get_bundled_folder() / RERANKER_MODEL
CANONICAL = json.loads((FOLDER / "canonical_scores.json").read_text("utf-8"))
# Other machines add in another order.
TOLERANCE = 0.01


def scores(query: str, texts: list[str]) -> list[float]:
    with ModelPool().acquire_reranker(FOLDER, Performance()) as reranker:
        return reranker.score(query, texts, CancelToken())


def test_its_scores_are_the_canonical_ones() -> None:
    found = scores(CANONICAL["query"], CANONICAL["texts"])
    odds = [math.log(each / (1 - each)) for each in found]
    assert odds == pytest.approx(CANONICAL["logits"], abs=TOLERANCE)


def test_a_text_is_judged_alike_alone_and_beside_longer_ones() -> None:
    short, long = CANONICAL["texts"][0], "a/b.py\n" + "value = value + 1\n" * 40
    alone = scores(CANONICAL["query"], [short])[0]
    assert scores(CANONICAL["query"], [long, short])[1] == pytest.approx(alone, abs=1e-4)


def test_nothing_and_very_much_can_be_read() -> None:
    found = scores("", ["", "x" * 100_000, "读取配置文件"])
    assert all(0 < each < 1 for each in found)
