"""What a change reaches, and the tests that it may break, the strongest evidence first.

Callers are reached by distance, each by the shortest way. Four signs of a test are added: how near
it calls what changes, how rare the words are that it shares with what changes, whether it is named
after it, and whether its file is. What is far below the best test is left out.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from codekernel.domain.call_graph import CallChainNode, CallChainResult, CallChainSteps
from codekernel.domain.lexical_tokenizer import tokenize

# What no call graph sees, so that an empty answer is no promise.
UNSEEN = "dynamic dispatch, reflection, names in strings and configuration, other repositories"


@dataclass(frozen=True, slots=True)
class ReachedDefinition:
    """A definition that calls what changes, so many calls away; the shortest way counts."""

    place: CallChainNode
    distance: int
    certainty: str


@dataclass(frozen=True, slots=True)
class ReachedCallers:
    """Sorted by distance, then by place; ``left_out`` callers were not followed."""

    changed: tuple[CallChainNode, ...]
    callers: tuple[ReachedDefinition, ...]
    left_out: int = 0
    behind: int = 0  # files that have not been read yet


def join_callers(
    changed: Sequence[CallChainResult], users: Sequence[CallChainResult] = ()
) -> ReachedCallers:
    """Join the callers of all definitions that change, and of those that use what changes."""
    joined = _JoinedCallers()
    places = tuple(chain.place for answer in changed for chain in answer.chains)
    behind = left_out = 0
    for distance, answers in enumerate((changed, users)):
        for answer in answers:
            behind = max(behind, answer.behind)
            left_out += answer.more
            for chain in answer.chains:
                joined.reach(chain.place, distance, "certain")
                left_out += joined.walk(chain.callers, distance + 1) if chain.callers else 0
    own = set(map(_identify, places))
    found = sorted(
        (each for key, each in joined.by_place.items() if key not in own),
        key=lambda each: (each.distance, each.place.path, each.place.first_line),
    )
    return ReachedCallers(places, tuple(found), left_out, behind)


def _identify(place: CallChainNode) -> tuple[str, int, str]:
    return place.path, place.first_line, place.name


class _JoinedCallers:
    def __init__(self) -> None:
        self.by_place: dict[tuple[str, int, str], ReachedDefinition] = {}

    def reach(self, place: CallChainNode, distance: int, certainty: str) -> None:
        """Keep the shortest way."""
        known = self.by_place.get(_identify(place))
        if known is None or known.distance > distance:
            self.by_place[_identify(place)] = ReachedDefinition(place, distance, certainty)

    def walk(self, steps: CallChainSteps, distance: int) -> int:
        """Reach all callers; return how many were not followed."""
        missing = steps.more + steps.unread
        for step in steps.steps:
            self.reach(step.place, distance, step.certainty)
            missing += self.walk(step.next, distance + 1)
        return missing


_SATURATION, _LENGTH_SHARE = 1.2, 0.75  # k1 and b, as usual

# A name of what changes says more than a word of its text.
NAME_TERM_WEIGHT = 3.0

_CERTAINTY_FACTORS = {"certain": 1.0, "likely": 0.8, "possible": 0.4}

_TEST_AFFIXES = re.compile(
    r"^(?:test|tests|spec)_|[_.-](?:test|tests|spec)$|(?:Tests?|Spec|TestCase|IT)$"
)

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for a test, each from 0 to 1."""

    calls: float = 0.0
    words: float = 0.0
    title: float = 0.0
    file: float = 0.0

    def add_up(self, weights: "Signs") -> float:
        """Return the score."""
        return (
            weights.calls * self.calls
            + weights.words * self.words
            + weights.title * self.title
            + weights.file * self.file
        )


# Chosen on 25 commits of click, werkzeug and starlette with 46 tests that fail: any words from 2.5
# to 4, title from .5 to 1 and file to .25 do as well (scripts/bench.py impact). Whether the changed
# name stands in the text as it is adds nothing to the rarity of its words.
WEIGHTS = Signs(calls=1.0, words=3.0, title=0.75, file=0.125)

# Of the best score; on those commits .3 finds no more of the tests, and names a tenth more.
MIN_SHARE = 0.4

# What is worth running first; on those commits .87 of the tests that fail.
MAX_STRONG_TESTS = 20


@dataclass(frozen=True, slots=True)
class TestCode:
    """A test and its text, or a whole file of tests where they have no names."""

    __test__ = False  # for pytest

    place: CallChainNode
    text: str


@dataclass(frozen=True, slots=True)
class RankedTest:
    """A test, the calls between it and what changes (0: none are known), and why it is here."""

    place: CallChainNode
    distance: int
    certainty: str
    score: float
    reasons: tuple[str, ...] = ()

    def explain(self) -> str:
        """Return what speaks for it in a few words."""
        return explain_test(self.distance, self.certainty, self.reasons)


@dataclass(frozen=True, slots=True)
class ChangedText:
    """The names of what changes, the files it is in, and its text."""

    names: frozenset[str]
    paths: frozenset[str]
    text: str


def explain_test(distance: int, certainty: str, reasons: Sequence[str]) -> str:
    """Return what speaks for a test in a few words."""
    calls = [f"{distance} call{'s' if distance > 1 else ''} away"] if distance else []
    doubt = [certainty] if certainty not in ("", "certain") else []
    return ", ".join([*calls, *doubt, *reasons]) or "similar words"


def rank_tests(
    tests: Sequence[TestCode],
    changed: ChangedText,
    reached: Sequence[ReachedDefinition],
) -> tuple[list[RankedTest], list[RankedTest]]:
    """Return the tests with strong evidence and those with less, best first."""
    nearest = find_nearest_calls(tests, reached)
    ranked: list[RankedTest] = []
    for test, signs in zip(tests, measure_signs(tests, changed, nearest), strict=True):
        call = nearest.get(test.place)
        score = signs.add_up(WEIGHTS)
        if score > 0:
            distance, certainty = (call.distance, call.certainty) if call else (0, "")
            reasons = tuple(_explain(test, signs, changed))
            ranked.append(RankedTest(test.place, distance, certainty, score, reasons))
    ranked.sort(key=lambda each: (-each.score, each.place.path, each.place.first_line))
    least = MIN_SHARE * ranked[0].score if ranked else 0.0
    count = sum(each.score >= least for each in ranked[:MAX_STRONG_TESTS])
    return ranked[:count], ranked[count:]


def _explain(test: TestCode, signs: Signs, changed: ChangedText) -> Iterable[str]:
    if named := sorted(changed.names.intersection(_WORD.findall(test.text))):
        yield f"names {', '.join(named)}"
    if signs.file:
        yield "file of the same name"


def find_nearest_calls(
    tests: Sequence[TestCode], reached: Sequence[ReachedDefinition]
) -> dict[CallChainNode, ReachedDefinition]:
    """Return for each test the nearest of the definitions in it, or of the helpers it names.

    A helper is what is reached in a file of tests and is no test: pytest gives a test the fixtures
    that its parameters name.
    """
    by_path: dict[str, list[ReachedDefinition]] = {}
    for each in reached:
        if each.place.kind != "file":
            by_path.setdefault(each.place.path, []).append(each)
    nearest: dict[CallChainNode, ReachedDefinition] = {}
    inside: set[ReachedDefinition] = set()
    for test in tests:
        lines = range(test.place.first_line, test.place.last_line + 1)
        for each in by_path.get(test.place.path, ()):
            if each.place.first_line in lines:
                inside.add(each)
                _keep_nearest(nearest, test.place, each)
    around = (each for own in by_path.values() for each in own if each not in inside)
    helpers = {each.place.name.rpartition(".")[2]: each for each in around}
    for test in tests if helpers else ():
        for name in helpers.keys() & set(_WORD.findall(test.text)):
            helper = helpers[name]
            far = ReachedDefinition(helper.place, helper.distance + 1, "likely")
            _keep_nearest(nearest, test.place, far)
    return nearest


def _keep_nearest(
    nearest: dict[CallChainNode, ReachedDefinition], test: CallChainNode, call: ReachedDefinition
) -> None:
    known = nearest.get(test)
    if known is None or known.distance > call.distance:
        nearest[test] = call


def measure_signs(
    tests: Sequence[TestCode],
    changed: ChangedText,
    nearest: Mapping[CallChainNode, ReachedDefinition],
) -> list[Signs]:
    """Return the signs of each test."""
    name_terms = {term for name in changed.names for term in tokenize(name).split()}
    weights = dict.fromkeys(tokenize(changed.text).split(), 1.0)
    weights |= dict.fromkeys(name_terms, NAME_TERM_WEIGHT)
    words = _scale(_score_words([test.text for test in tests], weights))
    stems = {_stem(path) for path in changed.paths}
    title_terms = name_terms.union(*(tokenize(stem).split() for stem in stems))
    titles = _scale([_score_title(test, title_terms) for test in tests])
    found = []
    for place, test in enumerate(tests):
        call = nearest.get(test.place)
        found.append(
            Signs(
                _CERTAINTY_FACTORS.get(call.certainty, 1.0) / call.distance if call else 0.0,
                words[place],
                titles[place],
                float(_stem(test.place.path) in stems),
            )
        )
    return found


def _scale(scores: Sequence[float]) -> list[float]:
    best = max(scores, default=0.0)
    return [score / best if best > 0 else 0.0 for score in scores]


def _score_words(texts: Sequence[str], weights: Mapping[str, float]) -> list[float]:
    """Return the BM25 scores of the texts; a term is as rare as it is among them."""
    counts = [Counter(tokenize(text).split()) for text in texts]
    frequency = Counter(term for each in counts for term in each if term in weights)
    average = sum(each.total() for each in counts) / max(1, len(counts))
    rarity = {
        term: math.log(1 + (len(texts) - count + 0.5) / (count + 0.5))
        for term, count in frequency.items()
    }
    scores = []
    for each in counts:
        length = 1 - _LENGTH_SHARE + _LENGTH_SHARE * each.total() / max(1.0, average)
        scores.append(
            sum(
                weights[term] * rarity[term] * count * (_SATURATION + 1)
                / (count + _SATURATION * length)
                for term, count in each.items()
                if term in weights
            )
        )  # fmt: skip
    return scores


def _score_title(test: TestCode, terms: set[str]) -> float:
    return float(len(terms.intersection(tokenize(test.place.name).split())))


def _stem(path: str) -> str:
    """Return the name of a file without its extension and what marks it as a test."""
    name = path.rpartition("/")[2].partition(".")[0] or path
    return _TEST_AFFIXES.sub("", name).strip("_").lower()
