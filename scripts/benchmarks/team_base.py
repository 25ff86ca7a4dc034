"""A team's base: ``team_base.py --repos DIR [--only NAME ...] [--copies N]``.

Builds a base of benchmark repositories with SeaweedFS on loopback as the store, then opens each one
over it with every tenth file edited, and asks the benchmark's questions of that and of a
local index of the same files. Prints what the build takes by step, how long the first answer and
later ones take, what the vector index misses, and what the ranking loses. ``--copies`` fills the
table with so many copies of all rows, under other names and with other vectors.
"""

import argparse
import json
import math
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any

from base_copies import fill_with_copies
from build_steps import BuildSteps, print_sizes
from clients_place import ROOT
from codekernel.base.base_building import BaseBuilder, BuildProgress, select_base_model
from codekernel.base.base_opening import OverlaidRepository
from codekernel.base.base_place import BasePlace, find_base_place
from codekernel.base.base_reader import BaseRepositoryReader, Deadline, OpenedBase, open_base
from codekernel.base.base_session import BaseSession
from codekernel.base.build_engines import LocalEngine
from codekernel.base.sources import find_sources
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Performance
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_folder import STATIC_MODEL, get_bundled_folder
from codekernel.inference.model_pool import ModelPool
from codekernel.search.pipeline import Searcher
from codekernel.settings.local_models import build_default_embedding_configs
from codekernel.sharing.object_store import ObjectStore, StorePlace
from codekernel.sharing.team import OpenedStore
from codekernel.sharing.vector_pack import TeamSecret
from codekernel.storage.base.base_table import BaseTable
from codekernel.storage.lexical_index import stem_terms
from support.seaweed import BUCKET, WRITER, Seaweed
from support.slow_proxy import SlowProxy
from verdicts import verdict, verdict_at_least

HITS, CANDIDATES, MEASURED = 10, 500, 40
NAMES = ["requests", "cobra", "gin", "axios", "gson", "rack", "axum", "monolog"]
EDITED_SHARE = 10
PATIENCE_SECONDS = 60.0
# As object stores answer inside of a region.
DELAY_SECONDS = 0.03
NOISE = 0.05
MAX_COLD_SECONDS, MAX_WARM_SECONDS, MIN_RECALL, MIN_QUALITY = 2.5, 0.25, 0.95, 0.995

MODEL = get_bundled_folder() / STATIC_MODEL

Question = tuple[str, list[str]]


def main() -> int:
    """Print the figures; 0 if the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "bench")
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=NAMES)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made, Seaweed(Path(made) / "weed") as server:
        bench = BaseBench(Path(made), server, options)
        met = bench.run()
    return 0 if met else 1


def plan_default() -> IndexPlan:
    """Return the default settings with the static model alone."""
    (size,) = {it.max_chunk_chars for it in build_default_embedding_configs()}
    return IndexPlan((ConfigPlan("static", MODEL, size),))


class BaseBench:
    """One run."""

    def __init__(self, folder: Path, server: Seaweed, options: argparse.Namespace) -> None:
        self._folder, self._options = folder, options
        self._plan, self._pool = plan_default(), ModelPool()
        self._endpoint = server.endpoint
        self._place = make_place(server.endpoint)
        rows = json.loads((options.bench / "repos.json").read_text("utf-8"))
        self._questions: dict[str, list[Question]] = {}
        for row in rows:
            source = options.repos / row["name"] / row["root"]
            if row["name"] in options.only and source.is_dir():
                shutil.copytree(source, self._root(row["name"]))
                self._questions[row["name"]] = read_questions(options.bench, row["name"])

    def run(self) -> bool:
        """Build, search, compare; true if all targets are met."""
        self._build()
        met = self._compare()
        if self._options.copies > 1:
            self._multiply(self._options.copies)
        met &= self._measure_first_answer()
        met &= self._measure_recall()
        self._measure_traffic()
        return met

    def _root(self, name: str) -> Path:
        return self._folder / "repositories" / name

    def _build(self) -> None:
        model = select_base_model(self._plan, self._pool)
        before = count_cpu(resource.RUSAGE_SELF)
        with closing(LocalEngine(self._options.workers)) as engine:
            builder = BaseBuilder(self._place, model, Performance(), engine, tell)
            sources = find_sources([("", self._root(name)) for name in self._questions])
            built = builder.build(sources)
        own, workers = count_cpu(resource.RUSAGE_SELF) - before, count_cpu(resource.RUSAGE_CHILDREN)
        chunks = built.manifest.chunks
        print(f"{len(sources)} repositories, {chunks} chunks, {built.parts_built} parts")
        print_steps(built.seconds, chunks)
        print(f"  CPU of the workers {workers:.1f} s, {1e6 * workers / chunks:.0f} us a chunk")
        print(
            f"  CPU of the committer {own:.1f} s, {1e6 * own / chunks:.0f} us a chunk", flush=True
        )

        print_sizes(self._place, chunks)

    def _compare(self) -> bool:
        """Ask each question over the base and of a local index of the same files."""
        base = open_base(self._place)
        scores: dict[str, list[float]] = {"over": [], "alone": []}
        seconds: list[float] = []
        for name, questions in self._questions.items():
            edit_files(self._root(name))
            with ExitStack() as closings:
                session = BaseSession(self._root(name), lambda root: overlay(base, root))
                over = closings.enter_context(closing(self._open(name, "over", session)))
                alone = closings.enter_context(closing(self._open(name, "alone")))
                local = Searcher(self._root(name), alone)
                for query, wanted in questions:
                    began = time.perf_counter()
                    searcher = session.cover(Searcher(self._root(name), over), over)
                    found = searcher.run_search(query, HITS, CancelToken(), accuracy=False)
                    seconds.append(time.perf_counter() - began)
                    scores["over"].append(score([it.chunk.path for it in found.hits], wanted))
                    paths = [hit.chunk.path for hit in local.search(query, HITS)]
                    scores["alone"].append(score(paths, wanted))
        over_mean, alone_mean = fmean(scores["over"]), fmean(scores["alone"])
        print(f"{len(seconds)} questions, every tenth file edited: NDCG@10 {over_mean:.4f},"
              f" alone {alone_mean:.4f}")  # fmt: skip
        met = verdict_at_least("base and overlay / local", over_mean / alone_mean, MIN_QUALITY)
        print(f"  whole search over the base: {describe(seconds)}")
        return verdict("warm p95", percentile(seconds, 95), MAX_WARM_SECONDS, " s") & met

    def _open(self, name: str, kind: str, session: BaseSession | None = None) -> RepositoryIndex:
        elsewhere: dict[str, Any] = {"elsewhere": session} if session else {}
        folder = self._folder / kind / name
        index = RepositoryIndex(self._root(name), folder, lambda: self._pool, **elsewhere)
        index.start(self._plan)
        while not index.is_idle:
            time.sleep(0.01)
        return index

    def _multiply(self, copies: int) -> None:
        """Fill the table with copies under other names."""
        base, steps = open_base(self._place), BuildSteps()
        rows = fill_with_copies(self._place, base, copies * base.manifest.chunks, steps.enter)
        steps.end()
        print(f"{copies} copies: {rows} chunks")
        print_sizes(self._place, rows)
        steps.print(rows)

    def _measure_first_answer(self) -> bool:
        """Ask words and vectors of a table that was just opened, then more of them."""
        questions = [query for each in self._questions.values() for query, _ in each]
        name = next(iter(self._questions))
        with self._pool.acquire_embedder(MODEL, Performance()) as embedder:
            vectors = [embedder.embed_query(query) for query in questions]
        began = time.perf_counter()
        base = open_base(self._place)
        (repository,) = (it for it in base.manifest.repositories if it.label == name)
        reader = BaseRepositoryReader(base, repository)
        opened = time.perf_counter()
        taken: list[float] = []
        for query, vector in zip(questions, vectors, strict=True):
            asked = time.perf_counter()
            reader.search_terms(stem_terms(query.split()), CANDIDATES, Deadline(PATIENCE_SECONDS))
            reader.search_vectors(vector, CANDIDATES, Deadline(PATIENCE_SECONDS))
            taken.append(time.perf_counter() - asked)
        cold = opened - began + taken[0]
        print(f"opened in {opened - began:.2f} s, first answer {taken[0]:.2f} s; then words and"
              f" vectors, {CANDIDATES} of each: {describe(taken[1:])}")  # fmt: skip
        met = verdict("cold first answer", cold, MAX_COLD_SECONDS, " s")
        return (
            verdict("warm p95 of the table", percentile(taken[1:], 95), MAX_WARM_SECONDS, " s")
            & met
        )

    def _measure_traffic(self) -> None:
        """Ask as from a store that takes its time for each request, and count these."""
        (name, questions), *_ = self._questions.items()
        with self._pool.acquire_embedder(MODEL, Performance()) as embedder:
            vectors = [embedder.embed_query(query) for query, _ in questions]
        with SlowProxy(self._endpoint, DELAY_SECONDS) as proxy:
            base = open_base(make_place(proxy.endpoint))
            (repository,) = (it for it in base.manifest.repositories if it.label == name)
            reader = BaseRepositoryReader(base, repository)
            rows = []
            for (query, _), vector in zip(questions, vectors, strict=True):
                asked, before = time.perf_counter(), (proxy.requests, proxy.response_bytes)
                stems = stem_terms(query.split())
                reader.search_terms(stems, CANDIDATES, Deadline(PATIENCE_SECONDS))
                reader.search_vectors(vector, CANDIDATES, Deadline(PATIENCE_SECONDS))
                requests = proxy.requests - before[0]
                size = proxy.response_bytes - before[1]
                rows.append((time.perf_counter() - asked, requests, size / 1e6))
        print(f"with {1000 * DELAY_SECONDS:.0f} ms a request, one after another, not prewarmed:")
        for kind, some in (("first", rows[:1]), ("later", rows[1:])):
            means = tuple(map(fmean, zip(*some, strict=True)))
            print("  {}: {:.2f} s, {:.0f} requests, {:.1f} MB".format(kind, *means))

    def _measure_recall(self) -> bool:
        table = BaseTable(self._place.table)
        with self._pool.acquire_embedder(MODEL, Performance()) as embedder:
            queries = [query for each in self._questions.values() for query, _ in each]
            vectors = [embedder.embed_query(query) for query in queries[:MEASURED]]
        label = next(iter(self._questions))
        met = True
        for repos, of in (((), "all"), ((label,), "one repository")):
            shares = [measure_share(table, vector, repos) for vector in vectors]
            met &= verdict_at_least(f"recall@10 of {of} against exact", fmean(shares), MIN_RECALL)
        return met


def measure_share(table: BaseTable, vector: Any, repos: Sequence[str]) -> float:
    """Return how many of the nearest chunks a search finds; equals count alike."""
    nearest: dict[int, float] = {
        row["_rowid"]: row["_distance"] for row in table.search_exactly(vector, repos, 2 * HITS)
    }
    worst = sorted(nearest.values())[HITS - 1] + 1e-6
    found = table.search_vectors(vector, repos, CANDIDATES)[:HITS]  # as many as a search asks for
    return sum(nearest.get(row["_rowid"], 2.0) <= worst for row in found) / HITS


def make_place(endpoint: str) -> BasePlace:
    """Return where the base lies, by the server or by a way to it."""
    place = StorePlace(f"s3://{BUCKET}/bench", endpoint, credentials=WRITER)
    opened = OpenedStore(ObjectStore(place, {}), TeamSecret.from_salt("a salt of this team"))
    return find_base_place(opened, "bench", {})


def overlay(base: OpenedBase, root: Path) -> OverlaidRepository | None:
    """Return a repository of the base by its folder's name, with time to answer."""
    repository = base.manifest.find(root.name)
    return OverlaidRepository(root, base, repository, PATIENCE_SECONDS) if repository else None


def edit_files(root: Path) -> None:
    """Add a line to every tenth file."""
    files = sorted(path for path in root.rglob("*") if path.is_file())
    for path in files[::EDITED_SHARE]:
        with path.open("ab") as file:
            file.write(b"\n")


def read_questions(bench: Path, name: str) -> list[Question]:
    """Return the questions about a repository, with the files that answer them."""
    rows = json.loads((bench / "queries" / f"{name}.json").read_text("utf-8"))
    return [
        (
            row["query"],
            [
                it if isinstance(it, str) else it["path"]
                for it in row["relevant"] + row["secondary"]
            ],
        )
        for row in rows
    ]


def score(paths: Sequence[str], wanted: Sequence[str]) -> float:
    """Return NDCG@10 of the files."""
    ranks = {
        next((place for place, path in enumerate(paths) if is_same_path(path, it)), None)
        for it in wanted
    }
    gain = sum(1 / math.log2(rank + 2) for rank in ranks if rank is not None)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(HITS, len(wanted))))


def is_same_path(one: str, other: str) -> bool:
    """Return whether one path ends with the other."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def count_cpu(who: int) -> float:
    """Return the CPU seconds of this process or of its children that have ended."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def percentile(values: Sequence[float], percent: int) -> float:
    """Return a percentile."""
    return quantiles(values, n=100, method="inclusive")[percent - 1]


def describe(seconds: Sequence[float]) -> str:
    """Return the median and the slow ones, in milliseconds."""
    return (
        f"p50 {1000 * percentile(seconds, 50):.0f} ms, p95 {1000 * percentile(seconds, 95):.0f} ms"
    )


def print_steps(seconds: dict[str, float], chunks: int) -> None:
    """Print what each step took by the clock."""
    for step, taken in seconds.items():
        print(f"  {step}: {taken:.1f} s, {1e6 * taken / chunks:.0f} us a chunk", flush=True)


def tell(progress: BuildProgress) -> None:
    """Print nothing: the steps are printed at the end."""
    del progress


if __name__ == "__main__":
    sys.exit(main())
