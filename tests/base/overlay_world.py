"""A checkout that is searched over the base of its team, beside one with an index of everything."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from base.base_world import PLAN, BaseWorld
from codekernel.base.base_opening import OverlaidRepository, find_repository
from codekernel.base.base_reader import open_base
from codekernel.base.base_session import BaseSession
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import HitList
from codekernel.domain.lexical_tokenizer import word_set
from codekernel.indexing.index_plan import IndexTimings
from codekernel.indexing.index_state import WorkRequest
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_pool import ModelPool
from codekernel.search.pipeline import Searcher
from indexing.harness import IndexHarness

TIMINGS = IndexTimings(index_start_delay=0.01, embed_start_delay=0.01, compact_delay=0.05)
PATIENCE_SECONDS = 60.0
# Scores that differ by less are equal: cosines are added up in another order, and a value that is
# a little different may lead the trees of learned_ranking.json to another leaf (.0004 was seen).
TOLERANCE = 1e-6

Value = TypeVar("Value")

Found = list[tuple[tuple[str, int], float]]


class OverlayHarness(IndexHarness):
    """An index whose files may be in a base."""

    session: BaseSession

    def rescan(self) -> None:
        """Compare every file, whether the watcher has noticed a change or not."""
        self.index._worker.post(WorkRequest(needs_scan=True))
        self.wait_until_idle()

    def cover(self) -> Searcher:
        alone = Searcher(self.root, self.index, describe_gap=self.session.describe_gap)
        return self.session.cover(alone, self.index)

    def find(self, query: str, limit: int = 10) -> HitList:
        return self.cover().run_search(query, limit, CancelToken(), accuracy=False)


@contextmanager
def open_over_base(
    world: BaseWorld, root: Path, name: str, seconds: float = PATIENCE_SECONDS
) -> Iterator[OverlayHarness]:
    """Open a checkout over the base of a world, and wait until what differs is indexed."""

    def open_repository(root: Path) -> OverlaidRepository | None:
        base = open_base(world.place)
        found = find_repository(base.manifest, root)
        return OverlaidRepository(root, base, found, seconds) if found else None

    session = BaseSession(root, open_repository)
    index = RepositoryIndex(
        root, world.folder / name, lambda: POOL, timings=TIMINGS, elsewhere=session
    )
    harness = OverlayHarness(root, index.store.folder, index)
    harness.session = session
    with ExitStack() as closing:
        closing.callback(harness.close)
        index.start(PLAN)
        harness.wait_until_idle()
        yield harness


@contextmanager
def open_alone(world: BaseWorld, root: Path, name: str) -> Iterator[IndexHarness]:
    """Open a checkout with an index of everything in it."""
    index = RepositoryIndex(root, world.folder / name, lambda: POOL, timings=TIMINGS)
    harness = IndexHarness(root, index.store.folder, index)
    with ExitStack() as closing:
        closing.callback(harness.close)
        index.start(PLAN)
        harness.wait_until_idle()
        yield harness


POOL = ModelPool()


def present(found: HitList) -> Found:
    return [((hit.chunk.path, hit.chunk.begin_line), hit.score) for hit in found.hits]


def find_difference(one: Found, other: Found) -> str:
    """Return how two rankings differ; hits of equal scores may be in any order."""
    if len(one) != len(other):
        return f"{len(one)} hits and {len(other)}"
    scores = dict(other)
    last = min((score for _, score in other), default=0.0)
    for (place, score), (_, expected) in zip(one, other, strict=True):
        if abs(score - expected) > TOLERANCE:
            return f"{place}: {score} where {expected} is expected"
        is_cut = place not in scores and abs(score - last) <= TOLERANCE
        if not is_cut and abs(scores.get(place, -1.0) - score) > TOLERANCE:
            return f"{place}: {score}, alone {scores.get(place)}"
    return ""


def search_alone(harness: IndexHarness, query: str, limit: int = 10) -> HitList:
    searcher = Searcher(harness.root, harness.index)
    return searcher.run_search(query, limit, CancelToken(), accuracy=False)


WORDS = tuple(
    sorted(word_set("session close header parse write file socket open retry limit token cache"))
)


class Chance:
    """Repeatable by its seed."""

    def __init__(self, seed: int) -> None:
        self._numbers = np.random.default_rng(seed)

    def number(self, begin: int, end: int) -> int:
        return int(self._numbers.integers(begin, end))

    def pick(self, values: Sequence[Value]) -> Value:
        return values[self.number(0, len(values))]

    def pick_several(self, values: Sequence[Value], count: int) -> list[Value]:
        return [self.pick(values) for _ in range(count)]


class RandomChanges:
    """Edits, renames, deletes and branch switches of a checkout, repeatable by a seed."""

    def __init__(self, root: Path, git: Callable[..., str], seed: int) -> None:
        self.root = root
        self._git = partial(git, "-C", str(root))
        self._chance = Chance(seed)
        self._count = 0

    def change(self) -> str:
        """Change something; return what was done."""
        self._count += 1
        files = sorted(path for path in self.root.rglob("*.py") if path.is_file())
        kind = self._chance.pick(("edit", "edit", "edit", "add", "rename", "delete", "switch"))
        path = self._chance.pick(files) if files else self.root / "first.py"
        if kind == "switch":
            self._git("stash", "--quiet", "--include-untracked")
            branch = self._chance.pick(("main", "other", "third"))
            self._git("checkout", "--quiet", branch)
        elif kind == "delete" and len(files) > 3:
            path.unlink()
        elif kind == "rename":
            path.rename(path.with_name(f"renamed_{self._count}.py"))
        elif kind == "add":
            (self.root / f"added_{self._count}.py").write_text(self._make_text(), "utf-8")
        else:
            text = path.read_text("utf-8") if path.exists() else ""
            lines = text.splitlines()[: self._chance.number(1, 40)]
            path.write_text("\n".join(lines) + "\n" + self._make_text(), "utf-8")
        return f"{kind} {path.relative_to(self.root)}"

    def _make_text(self) -> str:
        name, body = (self._chance.pick(WORDS) for _ in range(2))
        words = " ".join(self._chance.pick_several(WORDS, 6))
        first = f'def {name}_{self._count}({body}):\n    """{words.capitalize()}."""\n'
        return f"{first}    return {body}\n"


def make_files(count: int, seed: int) -> dict[str, str]:
    """Return source files of random words."""
    chance = Chance(seed)
    files = {}
    for number in range(count):
        parts = []
        for part in range(chance.number(1, 5)):
            name, body = chance.pick(WORDS), chance.pick(WORDS)
            words = " ".join(chance.pick_several(WORDS, chance.number(3, 12)))
            parts.append(
                f'def {name}_{number}_{part}({body}):\n    """{words.capitalize()}."""\n'
                f"    return {body}.{chance.pick(WORDS)}({number})\n"
            )
        files[f"src/{chance.pick(WORDS)}_{number}.py"] = "\n\n".join(parts)
    return files


QUERIES = (
    "where is the session closed",
    "parse_3_1",
    "retry limit of the token cache",
    "socket open",
    "src/header",
    '"return session"',
    r"/def \w+_1\d_/",
    "path:src/c close",
    "symbol:close_* file",
)
