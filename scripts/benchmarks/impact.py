"""The tests that a change breaks and those that impact names: ``impact.py --mirrors DIR``.

Real commits of public repositories that change code and tests: the tests of the commit run once as
they are and once with the code before it, and those that fail only then are what a change of these
lines can break. Impact is asked for the changed lines at the commit. The tests compared are those
of the test files that the commit touches; one that cannot be collected with the old code (a name is
missing) takes its commit with it. DIR holds git directories as ``../shared/bench/checkout.py`` has
them. Beside it two plain ways: tests whose text has the name of a changed definition, and all.
"""

import argparse
import ast
import re
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import NamedTuple

from callchain_index import indexed
from codekernel.agent.code_queries import RepositoryContext, find_impact
from codekernel.agent.tool_policy import ToolError
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.concurrency import CancelToken
from rival_venv import RivalMissing, environment

DEPTHS = (1, 3, 6)
DEFAULT_COMMITS = 25
DEFAULT_JOBS = 4
# A commit that touches more is a mass edit.
MAX_SOURCE_FILES = 8
MAX_TEST_FILES = 6
TEST_TIMEOUT_SECONDS = 240.0
# A test that asks the network, which there may not be.
CASE_TIMEOUT_SECONDS = 3
ASK_SECONDS = 120.0

_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(?P<first>\d+)(?:,(?P<count>\d+))? @@", re.MULTILINE)


class Suite(NamedTuple):
    """A repository whose tests can run from a folder."""

    name: str
    mirror: str
    sources: Sequence[str]
    requirements: Sequence[str]
    environ: tuple[tuple[str, str], ...] = ()
    options: Sequence[str] = ()


SUITES = (
    Suite(
        "requests",
        "psf+requests",
        ("src/requests/", "requests/"),
        ("pytest<9", "pytest-timeout",
         "pytest-httpbin", "pytest-mock", "trustme", "PySocks", "urllib3",
         "chardet<6", "idna", "certifi", "charset_normalizer"),
    ),
    Suite(
        "aiohttp",
        "aio-libs+aiohttp",
        ("aiohttp/",),
        ("pytest<9", "pytest-timeout",
         "pytest-mock", "pytest-aiohttp", "re-assert", "freezegun", "proxy.py",
         "trustme", "Brotli", "blockbuster", "isal", "aiosignal", "attrs", "frozenlist",
         "multidict", "yarl", "propcache", "aiohappyeyeballs", "aiodns", "python-on-whales",
         "setuptools-git", "typing_extensions", "async-timeout", "pytest-codspeed",
         "backports.zstd", "zlib-ng", "pytest-xdist"),
        (("AIOHTTP_NO_EXTENSIONS", "1"),),
        ("-p", "no:aiohttp"),  # its own tests load the plugin by another name
    ),
    Suite(
        "fastapi",
        "fastapi+fastapi",
        ("fastapi/",),
        ("pytest<9", "pytest-timeout",
         "starlette", "pydantic", "httpx", "anyio[trio]", "dirty-equals", "flask",
         "python-multipart", "PyJWT", "inline-snapshot", "annotated-doc", "typing-inspection",
         "email-validator", "jinja2", "orjson", "ujson", "sqlmodel", "pyyaml", "itsdangerous",
         "passlib", "pydantic-settings", "pydantic-extra-types"),
    ),
)  # fmt: skip

# The file of a test, and its name with its class.
TestName = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, and the files of it that count."""

    identity: str
    sources: Sequence[str]
    tests: Sequence[str]


@dataclass(slots=True)
class Counts:
    """What a way to choose tests found, summed over commits."""

    failing: int = 0
    chosen: int = 0
    right: int = 0
    commits: int = 0
    commits_found: int = 0

    def add(self, chosen: set[TestName], failing: set[TestName]) -> None:
        """Count one commit."""
        right = len(chosen & failing)
        self.failing += len(failing)
        self.chosen += len(chosen)
        self.right += right
        self.commits += 1
        self.commits_found += bool(right)

    def format_row(self, name: str) -> str:
        """Return a row of the table."""
        recall = self.right / self.failing if self.failing else 0.0
        precision = self.right / self.chosen if self.chosen else 0.0
        found = f"{self.commits_found} of {self.commits}"
        return f"| {name} | {recall:.2f} | {precision:.2f} | {found} | {self.chosen} |"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a commit shows: the tests that fail, and those that each way chooses."""

    failing: set[TestName]
    ways: dict[str, set[TestName]]
    # Changed lines that are in no definition.
    outside: int

    def describe(self) -> str:
        """Return a line about it."""
        chosen = (f"{len(it & self.failing)} of {len(it)}: {way}" for way, it in self.ways.items())
        return f"{len(self.failing)} fail; {', '.join(chosen)}"


@dataclass(slots=True)
class Tally:
    """The ways compared, and the commits that could not be."""

    ways: dict[str, Counts] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)
    outside: int = 0

    def add(self, commit: Comparison) -> None:
        """Count one commit."""
        self.outside += commit.outside
        for way, chosen in commit.ways.items():
            self.ways.setdefault(way, Counts()).add(chosen, commit.failing)

    def drop(self, reason: str) -> None:
        """Count a commit that is not compared."""
        self.dropped[reason] += 1


class Unusable(Exception):
    """A commit that says nothing; the message is the reason."""


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[suite.name for suite in SUITES])
    parser.add_argument("--commits", type=int, default=DEFAULT_COMMITS, help="of each repository")
    parser.add_argument("--jobs", type=int, default=DEFAULT_JOBS, help="commits at a time")
    options = parser.parse_args()
    total = Tally()
    try:
        for suite in SUITES:
            if suite.name in options.only:
                measure_suite(suite, options.mirrors / suite.mirror / "repo", options, total)
    except KeyboardInterrupt:
        print("interrupted: what was measured until then")
    print_tally(total)
    return 0


def measure_suite(suite: Suite, mirror: Path, options: argparse.Namespace, total: Tally) -> None:
    """Compare the newest usable commits of one repository, several at a time: tests wait a lot."""
    try:
        python = environment(f"impact-{suite.name}", suite.requirements)
    except RivalMissing as error:
        print(f"{suite.name}: {error}")
        return
    used = 0
    commits = list_commits(suite, mirror)
    with ThreadPoolExecutor(options.jobs) as pool:
        while used < options.commits and (batch := list(islice(commits, options.jobs))):
            for commit, outcome in zip(
                batch, pool.map(partial(try_commit, suite, mirror, python), batch), strict=True
            ):
                if isinstance(outcome, str):
                    total.drop(outcome)
                elif used < options.commits:
                    used += 1
                    total.add(outcome)
                    print(f"{suite.name} {commit.identity[:10]}: {outcome.describe()}", flush=True)


def try_commit(suite: Suite, mirror: Path, python: Path, commit: Commit) -> "Comparison | str":
    """Return what a commit shows, or why it shows nothing."""
    try:
        return measure_commit(suite, mirror, commit, python)
    except Unusable as error:
        return str(error)


def print_tally(tally: Tally) -> None:
    """Print the table."""
    counts = next(iter(tally.ways.values()), Counts())
    print(f"{counts.commits} commits, {counts.failing} tests that fail with the code before them")
    print("| way | recall | precision | commits with a failing test found | tests named |")
    print("|---|---|---|---|---|")
    for way, each in tally.ways.items():
        print(each.format_row(way))
    print(f"changed lines in no definition: {tally.outside}; not compared: {dict(tally.dropped)}")


def git(mirror: Path, *words: str) -> str:
    """Return what git prints. Raises Unusable."""
    command = ["git", "--git-dir", str(mirror), *words]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise Unusable("git cannot read it")
    return done.stdout.decode(errors="replace")


def list_commits(suite: Suite, mirror: Path) -> Iterator[Commit]:
    """Yield the commits that change code and tests, newest first."""
    for identity in git(mirror, "log", "--no-merges", "--format=%H", "HEAD", "--", "tests").split():
        with suppress(Unusable):
            rows = git(mirror, "diff", "--name-status", "--no-renames", f"{identity}^", identity)
            pairs = [row.split("\t", 1) for row in rows.splitlines() if row.endswith(".py")]
            sources = [path for _, path in pairs if path.startswith(tuple(suite.sources))]
            tests = [
                path
                for status, path in pairs
                if status != "D" and Path(path).name.startswith("test_") and "tests/" in path
            ]
            if 0 < len(sources) <= MAX_SOURCE_FILES and 0 < len(tests) <= MAX_TEST_FILES:
                yield Commit(identity, sources, tests)


def measure_commit(suite: Suite, mirror: Path, commit: Commit, python: Path) -> Comparison:
    """Run the tests twice and ask for the impact. Raises Unusable."""
    with tempfile.TemporaryDirectory(prefix="codekernel-impact-") as name:
        folder = Path(name) / "repo"
        folder.mkdir()
        packed = folder.with_suffix(".tar")
        git(mirror, "archive", f"--output={packed}", commit.identity)
        with tarfile.open(packed) as archive:
            archive.extractall(folder, filter="data")
        run = partial(run_tests, suite, folder, python, commit.tests)
        after = run()
        passed = {test for test, is_good in after.items() if is_good}
        if not passed:
            raise Unusable("no test passes as it is")
        new = [folder / path for path in commit.sources if (folder / path).is_file()]
        texts = {file: file.read_bytes() for file in new}
        for path in commit.sources:
            revert(mirror, commit, folder, path)
        before = run()
        for file, text in texts.items():
            file.write_bytes(text)
        uncollected = {file for file, _ in passed} - {file for file, _ in before}
        if uncollected:
            raise Unusable("the tests need a name that the old code lacks")
        failing = {test for test in passed if before.get(test) is False}
        if not failing:
            raise Unusable("no test fails with the old code")
        places = list(list_changed_places(mirror, commit))
        return compare(folder, places, passed, failing)


def revert(mirror: Path, commit: Commit, folder: Path, path: str) -> None:
    """Write a file as it was before the commit."""
    try:
        text = git(mirror, "show", f"{commit.identity}^:{path}")
    except Unusable:
        (folder / path).unlink(missing_ok=True)
    else:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def run_tests(
    suite: Suite, folder: Path, python: Path, files: Sequence[str]
) -> dict[TestName, bool]:
    """Return which tests pass, of all cases of a test together. Raises Unusable."""
    report = folder.parent / "report.xml"
    report.unlink(missing_ok=True)
    options = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "-o", "filterwarnings=default",
               f"--timeout={CASE_TIMEOUT_SECONDS}"]  # fmt: skip
    command = [str(python), "-m", "pytest", *options, "--continue-on-collection-errors",
               f"--junitxml={report}", *suite.options, *files]  # fmt: skip
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder.parent),
        "PYTHONPATH": f"{folder / 'src'}:{folder}",
        "PYTHONDONTWRITEBYTECODE": "1",
        **dict(suite.environ),
    }
    try:
        subprocess.run(command, cwd=folder, env=environ, check=False, capture_output=True,
                       timeout=TEST_TIMEOUT_SECONDS)  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Unusable("the tests take too long") from None
    if not report.exists():
        raise Unusable("the tests do not start")
    return read_report(report, files)


def read_report(report: Path, files: Sequence[str]) -> dict[TestName, bool]:
    """Return which tests pass; one that was skipped is not among them."""
    modules = {path.removesuffix(".py").replace("/", "."): path for path in files}
    found: dict[TestName, bool] = {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it
        owner = case.get("classname", "")
        module = next((it for it in modules if owner == it or owner.startswith(f"{it}.")), None)
        if module is None or case.find("skipped") is not None:
            continue
        scope = owner.removeprefix(module).strip(".")
        name = case.get("name", "").partition("[")[0]
        test = modules[module], f"{scope}.{name}" if scope else name
        is_good = case.find("failure") is None and case.find("error") is None
        found[test] = found.get(test, True) and is_good
    return found


def compare(
    folder: Path, places: Sequence[str], tests: set[TestName], failing: set[TestName]
) -> Comparison:
    """Return what each way chooses among the tests."""
    ways: dict[str, set[TestName]] = {}
    changed: set[str] = set()
    outside = 0
    with indexed(folder) as index:
        context = RepositoryContext(
            WorkspaceRoot.from_path(folder),
            lambda _query, _limit: [],
            lambda query, cancel, _seconds: index.graph.ask(query, cancel, ASK_SECONDS),
            CancelToken(),
        )
        for depth, place in product(DEPTHS, places):
            chosen = ways.setdefault(f"impact, {depth} calls", set())
            try:
                impact, _ = find_impact(place, depth, context)
            except ToolError:
                outside += depth == DEPTHS[0]
                continue
            changed |= {each.name for each in impact.changed}
            chosen |= {(each.place.path, each.place.name) for each in impact.tests} & tests
    ways["its text names what changed"] = {it for it in tests if is_named(folder, it, changed)}
    ways["all tests of the touched files"] = tests
    return Comparison(failing, ways, outside)


def list_changed_places(mirror: Path, commit: Commit) -> Iterator[str]:
    """Yield the changed lines of the code as places."""
    for path in commit.sources:
        changes = git(mirror, "diff", "-U0", f"{commit.identity}^", commit.identity, "--", path)
        for hunk in _HUNK.finditer(changes):
            first, count = int(hunk["first"]), int(hunk["count"] or 1)
            if first:
                yield f"{path}:{first}-{first + max(count, 1) - 1}"


def is_named(folder: Path, test: TestName, changed: set[str]) -> bool:
    """Return whether a test has the name of a changed definition in its text."""
    path, name = test
    text = (folder / path).read_text(encoding="utf-8", errors="replace")
    wanted = name.rpartition(".")[2]
    bodies = [
        ast.get_source_segment(text, node) or ""
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == wanted
    ]
    words = {word for body in bodies for word in re.findall(r"\w+", body)}
    return not words.isdisjoint(each.rpartition(".")[2] for each in changed)


if __name__ == "__main__":
    sys.exit(main())
