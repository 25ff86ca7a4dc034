"""Weights are learned from older questions and judged by newer ones."""

from collections.abc import Callable, Sequence

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled
from codekernel.search.ranking_weights import (
    DEFAULT_WEIGHTS,
    MAX_FACTOR,
    MIN_FACTOR,
    WEIGHT_NAMES,
    RankingWeights,
)
from codekernel.search.tuning import (
    MIN_TUNING_QUESTIONS,
    RankFunction,
    Tuning,
    TuningQuestion,
    learn_weights,
)

Prepare = Callable[[str, int], RankFunction]

WANTED = frozenset({"wanted.py"})

# Twice as many as are needed: of these the newest two fifths judge.
QUESTIONS: list[TuningQuestion] = [(f"{n}", WANTED) for n in range(2 * MIN_TUNING_QUESTIONS)]


def rank_better_with_louder_file_names(_text: str, _limit: int) -> RankFunction:
    return lambda weights: ["wanted.py"] if weights.file_name > 1 else ["other.py", "wanted.py"]


def rank_better_for_older_ones_alone(text: str, limit: int) -> RankFunction:
    if int(text) > MIN_TUNING_QUESTIONS:
        return rank_better_with_louder_file_names(text, limit)
    return lambda _weights: ["other.py", "wanted.py"]


def rank_alike(_text: str, _limit: int) -> RankFunction:
    return lambda _weights: ["wanted.py"]


def learn(prepare: Prepare, questions: Sequence[TuningQuestion] = QUESTIONS) -> Tuning:
    return learn_weights(questions, prepare, CancelToken())


def test_what_gains_on_older_and_newer_questions_holds() -> None:
    learned = learn(rank_better_with_louder_file_names)
    assert learned.holds
    assert learned.weights.file_name > 1
    assert learned.weights == RankingWeights(file_name=learned.weights.file_name)
    assert learned.trained_count + learned.set_aside_count == len(QUESTIONS)
    assert learned.gain.mean == pytest.approx(1 - learned.before)


def test_what_gains_on_older_questions_alone_does_not_hold() -> None:
    learned = learn(rank_better_for_older_ones_alone)
    assert learned.training_gain.low > 0
    assert learned.weights != DEFAULT_WEIGHTS
    assert not learned.holds


def test_where_nothing_gains_nothing_is_learned() -> None:
    learned = learn(rank_alike)
    assert (learned.weights, learned.holds) == (DEFAULT_WEIGHTS, False)


def test_a_handful_of_questions_teaches_nothing() -> None:
    learned = learn(rank_better_with_louder_file_names, QUESTIONS[: MIN_TUNING_QUESTIONS - 1])
    assert (learned.weights, learned.holds) == (DEFAULT_WEIGHTS, False)
    assert not learn(rank_better_with_louder_file_names, []).holds


def test_no_weight_leaves_its_range() -> None:
    def rank_by_extremes(_text: str, _limit: int) -> RankFunction:
        def rank(weights: RankingWeights) -> list[str]:
            far = weights.semantic / weights.file_total
            return [*["other.py"] * max(0, round(8 - far)), "wanted.py"]

        return rank

    learned = learn(rank_by_extremes)
    values = [getattr(learned.weights, name) for name in WEIGHT_NAMES]
    assert learned.holds
    assert all(MIN_FACTOR <= value <= MAX_FACTOR for value in values)


def test_learning_ends_when_it_is_cancelled() -> None:
    cancel = CancelToken()

    def prepare_and_cancel(_text: str, _limit: int) -> RankFunction:
        cancel.cancel()
        return lambda _weights: []

    with pytest.raises(Cancelled):
        learn_weights(QUESTIONS, prepare_and_cancel, cancel)
