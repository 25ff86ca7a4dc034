"""The same questions under several settings: words alone, each model, all, with the reranker."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernel.cli.eval_report import Comparison, Outcome, duration
from kernel.domain.cancel import CancelToken
from kernel.domain.settings import Settings
from kernel.errors import InvalidModel
from kernel.indexing.arm import Arm
from kernel.indexing.plan import ConfigPlan, IndexPlan
from kernel.indexing.repository_index import RepositoryIndex
from kernel.inference.shelf import Shelf
from kernel.search.measures import HITS, difference, measured
from kernel.search.mining import Question
from kernel.search.searcher import Judge, Searcher
from kernel.storage.index_store import IndexStore

WORDS_ALONE = "words alone"
# Texts that a model is timed on: a few batches of the slowest one.
TIMED_TEXTS = 48

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class View:
    """An index of which only some embedding configs are looked at."""

    store: IndexStore
    arms: Sequence[Arm]


@dataclass(frozen=True, slots=True)
class Trials:
    """The questions and the index that they are put to."""

    root: Path
    index: RepositoryIndex
    questions: Sequence[Question]
    tell: Progress

    def outcome(
        self,
        setting: str,
        arms: Sequence[Arm],
        judge: Judge | None = None,
        *,
        accuracy: bool = False,
    ) -> Outcome:
        """Ask every question."""
        searcher = Searcher(self.root, View(self.index.store, arms), judge)
        each, milliseconds = [], []
        for number, question in enumerate(self.questions, 1):
            self.tell(f"{setting}: {number} of {len(self.questions)}")
            started = time.perf_counter()
            hits = searcher.search(question.text, HITS, accuracy=accuracy)
            milliseconds.append((time.perf_counter() - started) * 1e3)
            each.append(measured([hit.chunk.path for hit in hits], question.paths))
        unnamed = [
            one for one, asked in zip(each, self.questions, strict=True) if not asked.names_a_file
        ]
        typical = sorted(milliseconds)[len(milliseconds) // 2]
        return Outcome(setting, tuple(each), tuple(unnamed), typical)

    def texts(self) -> list[str]:
        """Some chunks of this repository, as a model would read them."""
        found: dict[int, str] = {}
        searcher = Searcher(self.root, View(self.index.store, ()))
        for question in self.questions:
            if len(found) >= TIMED_TEXTS:
                break
            hits = searcher.search(question.text, HITS)
            found.update((hit.chunk.key, hit.content) for hit in hits)
        return list(found.values())[:TIMED_TEXTS]


def run(
    trials: Trials, plan: IndexPlan, settings: Settings, shelf: Shelf
) -> tuple[list[Outcome], list[Comparison], list[str]]:
    """The outcomes, what they say, and what could not be tried."""
    arms = trials.index.arms
    tried = {arm.config for arm in arms}
    remarks = [
        f"{config.name} was not tried: its model cannot be used (codekernel models says why)."
        for config in plan.configs
        if config not in tried
    ]
    words = trials.outcome(WORDS_ALONE, ())
    outcomes, comparisons = [words], []
    alone = []
    for arm in arms:
        outcome = trials.outcome(f"words + {arm.config.name}", (arm,))
        cost = _embedding_cost(trials, arm, plan, shelf)
        alone.append(outcome)
        comparisons.append(_compared(arm.config.name, words, outcome, cost))
    outcomes += alone
    if len(alone) > 1:
        everything = trials.outcome("words + all of these", arms)
        outcomes.append(everything)
        best = max(alone, key=lambda outcome: sum(outcome.scores))
        comparisons.append(_compared("All together", best, everything, ""))
    accurate = trials.outcome("all, accuracy asked for", arms, accuracy=True)
    cost = f"{accurate.milliseconds - outcomes[-1].milliseconds:.0f} ms per search"
    comparisons.append(_compared("Accuracy", outcomes[-1], accurate, cost))
    outcomes.append(accurate)
    try:
        with _selected_judge(settings, shelf) as judge:
            if judge:
                reranked = trials.outcome("all + reranker", arms, judge, accuracy=True)
                cost = f"{reranked.milliseconds - outcomes[-1].milliseconds:.0f} ms per search"
                comparisons.append(_compared("The reranker", outcomes[-1], reranked, cost))
                outcomes.append(reranked)
    except InvalidModel as error:
        remarks.append(f"The reranker was not tried: {error}.")
    return outcomes, comparisons, remarks


def _compared(what: str, before: Outcome, after: Outcome, cost: str) -> Comparison:
    return Comparison(what, before.setting, difference(before.scores, after.scores), cost)


def _embedding_cost(trials: Trials, arm: Arm, plan: IndexPlan, shelf: Shelf) -> str:
    """How long this model takes for the whole repository, by the time it takes for a few texts."""
    texts = trials.texts()
    if not texts:
        return ""
    seconds = _seconds_for(texts, arm.config, plan, shelf)
    chunks = arm.status(chunks=0, files=0).chunks
    return f"{duration(seconds / len(texts) * chunks)} to embed {chunks} chunks"


def _seconds_for(texts: Sequence[str], config: ConfigPlan, plan: IndexPlan, shelf: Shelf) -> float:
    with shelf.embedder(config.model, plan.performance) as embedder:
        started = time.perf_counter()
        embedder.embed_documents(list(texts), CancelToken())
        return time.perf_counter() - started


@contextmanager
def _selected_judge(settings: Settings, shelf: Shelf) -> Iterator[Judge | None]:
    paths = {model.name: model.path for model in settings.local_models}
    chosen = [config.model_name for config in settings.rerank_configs if config.selected]
    if not chosen or chosen[0] not in paths:
        yield None
        return
    with shelf.reranker(paths[chosen[0]], settings.performance) as reranker:
        yield lambda query, texts: reranker.score(query, texts, CancelToken())
