"""The tests that a change breaks and those that impact names: ``impact.py --mirrors DIR``.

Real commits of public repositories that change code and tests: the tests of the commit run once as
they are and once with the code before it, and those that fail only then are what a change of these
lines can break. Impact is asked for the changed lines at the commit. The tests that run are those
of the test files that the commit touches, in Go those of all packages; a commit whose tests cannot
be built with the old code (a name is missing) is tried the other way round: the tests before it,
with the code before it and with the new one, and impact is asked for the lines that will change.
Recall of the first so many counts places in the whole list, precision only tests that ran.
DIR holds git directories as ``../shared/bench/checkout.py`` has them. Beside it three plain ways:
all that calls reach, tests whose text has the name of a changed definition, and all.
"""

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from codekernel.agent.change_impact import (
    DEFAULT_IMPACT_DEPTH,
    ChangeImpact,
    find_impact,
    list_tests,
)
from codekernel.agent.code_queries import RepositoryContext
from codekernel.agent.tool_policy import ToolError
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.callgraph.graph import CallGraph
from codekernel.callgraph.test_ranking import RankedTest
from codekernel.domain.call_graph import CallChainQuery, CallChainResult
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit
from impact_suites import (
    SUITES,
    TUNED_ON,
    Suite,
    TestName,
    Unusable,
    is_code,
    is_test_file,
    prepare,
    run_tests,
)
from kernel_searchers import Static
from rival_venv import RivalMissing

FIRST = (5, 10)
DEFAULT_COMMITS = 10
DEFAULT_JOBS = 2
# A commit that touches more is a mass edit.
MAX_SOURCE_FILES = 8
MAX_TEST_FILES = 6
# Newest first; older ones do not run with today's Python and packages.
MAX_TRIED = 60
ASK_SECONDS = 120.0

_HUNK = re.compile(
    r"^@@ -(?P<old>\d+)(?:,(?P<gone>\d+))? \+(?P<new>\d+)(?:,(?P<come>\d+))? @@", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, and the files of it that count."""

    identity: str
    sources: Sequence[str]
    tests: Sequence[str]


class Place(NamedTuple):
    """A repository, its git directory, and the program that runs its tests."""

    suite: Suite
    mirror: Path
    program: Path


@dataclass(slots=True)
class Counts:
    """What a way to choose tests found, summed over commits."""

    failing: int = 0
    chosen: int = 0
    right: int = 0
    mean_recall: float = 0.0
    commits: int = 0
    commits_found: int = 0

    def add(self, chosen: set[TestName], commit: "Comparison") -> None:
        """Count one commit; whether a test that did not run fails is not known."""
        failing = commit.failing
        right = len(chosen & failing)
        self.failing += len(failing)
        self.chosen += len(chosen & commit.tests)
        self.mean_recall += right / len(failing)
        self.right += right
        self.commits += 1
        self.commits_found += bool(right)

    def format_row(self, name: str) -> str:
        """Return a row of the table."""
        recall = self.right / self.failing if self.failing else 0.0
        mean = self.mean_recall / self.commits if self.commits else 0.0
        precision = self.right / self.chosen if self.chosen else 0.0
        found = f"{self.commits_found} of {self.commits}"
        return f"| {name} | {recall:.2f} | {mean:.2f} | {precision:.2f} | {found} | {self.chosen} |"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a commit shows: the tests that fail, and those that each way chooses."""

    failing: set[TestName]
    # All tests that ran.
    tests: set[TestName]
    ways: dict[str, set[TestName]]

    def describe(self) -> str:
        """Return a line about it."""
        chosen = (
            f"{len(it & self.failing)} of {len(it)}: {way}"
            for way, it in islice(self.ways.items(), 3)
        )
        return f"{len(self.failing)} fail; {', '.join(chosen)}"


@dataclass(slots=True)
class Tally:
    """The ways compared, and the commits that could not be."""

    ways: dict[str, Counts] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, commit: Comparison) -> None:
        """Count one commit."""
        for way, chosen in commit.ways.items():
            self.ways.setdefault(way, Counts()).add(chosen, commit)

    def drop(self, reason: str) -> None:
        """Count a commit that is not compared."""
        self.dropped[reason] += 1


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[suite.name for suite in SUITES])
    parser.add_argument("--commits", type=int, default=DEFAULT_COMMITS, help="of each repository")
    parser.add_argument("--jobs", type=int, default=DEFAULT_JOBS, help="commits at a time")
    options = parser.parse_args()
    tuned, held_out = Tally(), Tally()
    try:
        for suite in SUITES:
            if suite.name in options.only:
                total = tuned if suite.name in TUNED_ON else held_out
                measure_suite(suite, options.mirrors / suite.mirror / "repo", options, total)
    except KeyboardInterrupt:
        print("interrupted: what was measured until then")
    for title, tally in (("tuned on", tuned), ("had no part in the tuning", held_out)):
        print(f"\nRepositories that it was {title}:" if tally is tuned else f"\nThat {title}:")
        print_tally(tally)
    return 0


def measure_suite(suite: Suite, mirror: Path, options: argparse.Namespace, total: Tally) -> None:
    """Compare the newest usable commits of one repository, several at a time: tests wait a lot."""
    try:
        place = Place(suite, mirror, prepare(suite))
    except RivalMissing as error:
        print(f"{suite.name}: {error}")
        return
    used = 0
    commits = islice(list_commits(suite, mirror), MAX_TRIED)
    model = Static()
    with ThreadPoolExecutor(options.jobs) as pool:
        while used < options.commits and (batch := list(islice(commits, options.jobs))):
            tried = pool.map(partial(try_commit, place, model), batch)
            for commit, outcome in zip(batch, tried, strict=True):
                if isinstance(outcome, str):
                    total.dropped[outcome] += 1
                elif used < options.commits:
                    used += 1
                    total.add(outcome)
                    print(f"{suite.name} {commit.identity[:10]}: {outcome.describe()}", flush=True)


def try_commit(place: Place, model: Static, commit: Commit) -> "Comparison | str":
    """Return what a commit shows, or why it shows nothing."""
    try:
        return measure_commit(place, commit, model)
    except Unusable as error:
        return str(error)


def print_tally(tally: Tally) -> None:
    """Print the table."""
    counts = next(iter(tally.ways.values()), Counts())
    print(f"{counts.commits} commits, {counts.failing} tests that fail")
    print("| way | recall | mean of commits | precision | commits with one found | tests named |")
    print("|---|---|---|---|---|---|")
    for way, each in tally.ways.items():
        print(each.format_row(way))
    print(f"not compared: {dict(tally.dropped)}")


def git(mirror: Path, *words: str) -> str:
    """Return what git prints. Raises Unusable."""
    command = ["git", "--git-dir", str(mirror), *words]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise Unusable("git cannot read it")
    return done.stdout.decode(errors="replace")


def list_commits(suite: Suite, mirror: Path) -> Iterator[Commit]:
    """Yield the commits that change code and tests, newest first."""
    for identity in git(mirror, "log", "--no-merges", "--format=%H", "HEAD").split():
        with suppress(Unusable):
            rows = git(mirror, "diff", "--name-status", "--no-renames", f"{identity}^", identity)
            pairs = [row.split("\t", 1) for row in rows.splitlines()]
            sources = [path for _, path in pairs if is_code(suite, path)]
            tests = [path for status, path in pairs if status != "D" and is_test_file(suite, path)]
            if 0 < len(sources) <= MAX_SOURCE_FILES and 0 < len(tests) <= MAX_TEST_FILES:
                yield Commit(identity, sources, tests)


def measure_commit(place: Place, commit: Commit, model: Static) -> Comparison:
    """Run the tests twice and ask for the impact. Raises Unusable."""
    with tempfile.TemporaryDirectory(prefix="codekernel-impact-") as name:
        new, old = Path(name) / "new", Path(name) / "old"
        extract(place.mirror, commit.identity, new)
        try:
            passed, failing = find_failing(place, commit, new, f"{commit.identity}^")
        except Unusable:
            # Tests that need what the commit adds: those before it then, and what it breaks.
            extract(place.mirror, f"{commit.identity}^", old)
            passed, failing = find_failing(place, commit, old, commit.identity)
        folder = old if old.exists() else new
        lines = list(list_changed_places(place.mirror, commit, is_before=folder is old))
        if not lines:
            raise Unusable("nothing to ask for")
        return Comparison(failing, passed, compare_ways(folder, lines, passed, model))


def extract(mirror: Path, identity: str, folder: Path) -> None:
    """Write the files of a commit into a folder."""
    folder.mkdir()
    packed = folder.with_suffix(".tar")
    git(mirror, "archive", f"--output={packed}", identity)
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")


def find_failing(
    place: Place, commit: Commit, folder: Path, other: str
) -> tuple[set[TestName], set[TestName]]:
    """Return the tests that pass here, and those of them that fail with the code of ``other``."""
    files = [path for path in commit.tests if (folder / path).exists()]
    outcomes = run_tests(place.suite, folder, place.program, files)
    passed = {test for test, is_good in outcomes.items() if is_good}
    if not passed:
        raise Unusable("no test passes as it is")
    texts = {
        path: (folder / path).read_bytes() if (folder / path).is_file() else None
        for path in commit.sources
    }
    for path in commit.sources:
        write_as_of(place.mirror, other, folder, path)
    changed, again = (run_tests(place.suite, folder, place.program, files) for _ in range(2))
    for path, text in texts.items():
        if text is None:
            (folder / path).unlink(missing_ok=True)
        else:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(text)
    if {file for file, _ in passed} - {file for file, _ in changed}:
        raise Unusable("the tests need a name that the other code lacks")
    # One that fails only once fails by itself.
    failing = {test for test in passed if changed.get(test) is again.get(test) is False}
    if not failing:
        raise Unusable("no test fails with the other code")
    return passed, failing


def write_as_of(mirror: Path, identity: str, folder: Path, path: str) -> None:
    """Write a file as it is in a commit."""
    try:
        text = git(mirror, "show", f"{identity}:{path}")
    except Unusable:
        (folder / path).unlink(missing_ok=True)
    else:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def compare_ways(
    folder: Path, places: Sequence[str], tests: set[TestName], model: Static
) -> dict[str, set[TestName]]:
    """Return what each way chooses."""
    handle = model.index(folder)
    index, searcher = handle
    graph = CallGraph(index.store.folder, index.store.catalog)

    def search(query: str, limit: int) -> list[Hit]:
        return searcher.search(query, limit)

    def ask(query: CallChainQuery, cancel: CancelToken, _seconds: float) -> CallChainResult:
        return graph.ask(query, cancel, ASK_SECONDS)

    context = RepositoryContext(WorkspaceRoot.from_path(folder), search, ask, CancelToken())
    try:
        impact = find_impact_of_lines(places, context)
        ways = {"impact": name_tests(impact.tests)}
        for count in FIRST:
            ways[f"impact, the first {count}"] = name_tests(impact.tests[:count])
        every = (*impact.tests, *impact.weak_tests)
        reached = [each for each in every if each.distance]
        ways[f"all that calls reach within {DEFAULT_IMPACT_DEPTH}"] = name_tests(reached)
        ways["its text names what changed"] = find_naming(context, tests, impact)
    finally:
        graph.close()
        model.close(handle)
    ways["all tests that ran"] = tests
    return ways


def find_impact_of_lines(places: Sequence[str], context: RepositoryContext) -> ChangeImpact:
    """Return the impact of the places that are in code. Raises Unusable."""
    usable = []
    for place in places:
        with suppress(ToolError):
            find_impact([place], 1, context)
            usable.append(place)
    if not usable:
        return ChangeImpact((), (), ())
    return find_impact(usable, DEFAULT_IMPACT_DEPTH, context)


def name_tests(tests: Sequence[RankedTest]) -> set[TestName]:
    """Return the names of tests."""
    return {(each.place.path, each.place.name) for each in tests}


def find_naming(
    context: RepositoryContext, tests: set[TestName], impact: ChangeImpact
) -> set[TestName]:
    """Return the tests that have the name of a changed definition in their text."""
    changed = {each.name.rpartition(".")[2] for each in impact.changed}
    return {
        (path, test.place.name)
        for path in {path for path, _ in tests}
        for test in list_tests(path, context)
        if not changed.isdisjoint(re.findall(r"\w+", test.text))
    }


def list_changed_places(mirror: Path, commit: Commit, *, is_before: bool) -> Iterator[str]:
    """Yield the lines of the code that a commit made, or those that it is about to change."""
    for path in commit.sources:
        changes = git(mirror, "diff", "-U0", f"{commit.identity}^", commit.identity, "--", path)
        for hunk in _HUNK.finditer(changes):
            first = int(hunk["old" if is_before else "new"])
            count = int(hunk["gone" if is_before else "come"] or 1)
            if first:
                yield f"{path}:{first}-{first + max(count, 1) - 1}"


if __name__ == "__main__":
    sys.exit(main())
