"""Campaign: an index damaged at random, closed, killed or open, heals and equals a clean one."""

import json
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from trust_damages_kinds import damage_something
from trust_result import CampaignResult

DEFAULT_TRIES = 1_000
LANES = 2
ROOT = Path(__file__).resolve().parents[2]
CHILD = Path(__file__).with_name("trust_damages_child.py")
# Real code, in which the questions below have real answers.
SOURCES = ("kernel/codekernel/storage", "kernel/codekernel/domain", "docs/decisions")
MAX_FILES = 45
QUERIES = (
    "where is a damaged database set aside",
    "cosine of nearest vectors",
    "write a file atomically",
    "pause the work between two steps",
    "api key",
    "CatalogueDamaged",
    "how are chunks cut",
    "lock taken by another process",
)
# How the index stood when it was damaged.
CLOSED, KILLED, OPEN = "closed", "killed", "open"
# Not it was damaged, but the vectors that all indexes share; it is made from nothing else.
SHARED = "shared"
STATES = (CLOSED, CLOSED, CLOSED, KILLED, KILLED, OPEN, OPEN, SHARED)
DAMAGES_AT_ONCE = (1, 1, 1, 2, 3)
ANSWER_SECONDS = 90.0
# Vectors are kept in half precision, and texts embedded together in another order differ by less.
SCORE_TOLERANCE = 2e-3
# Of candidates with the same score, others may be the last ones after a rebuild.
FILE_TOLERANCE = 1e-2


class ChildDied(Exception):
    """The process ended, or never answered."""


class Lane:
    """A child process and the folder it works in; damages one copy of an index after another."""

    def __init__(self, place: Path, repo: Path) -> None:
        self.place = place
        self.repo = repo
        self.index = place / "index" / "1"  # as in userData
        self.shared = place / "vectors"
        self._child: subprocess.Popen[str] | None = None
        self._answers: SimpleQueue[str] = SimpleQueue()

    def ask(self, **command: Any) -> dict[str, Any]:
        """Have the child do something; raises ChildDied."""
        child = self._child or self._start()
        if child.stdin is None:
            raise AssertionError("a child without stdin")
        try:
            child.stdin.write(f"{json.dumps(command)}\n")
            child.stdin.flush()
            line = self._answers.get(timeout=ANSWER_SECONDS)
        except (OSError, Empty):
            line = ""
        if not line:
            self.end()
            raise ChildDied(f"{command['do']}: the process ended or hung")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """End the child."""
        if self._child:
            self._child.kill()
            self._child.wait()
        self._child = None

    def _start(self) -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            [sys.executable, str(CHILD)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, env={"PYTHONPATH": str(ROOT / "kernel")},
        )  # fmt: skip
        answers: SimpleQueue[str] = SimpleQueue()

        def listen() -> None:
            for line in child.stdout or ():
                answers.put(line)
            answers.put("")

        threading.Thread(target=listen, daemon=True).start()
        self._child, self._answers = child, answers
        return child


def run(seed: int, tries: int | None) -> CampaignResult:
    """Damage an index again and again; each time it must heal and answer as a clean one does."""
    count = DEFAULT_TRIES if tries is None else tries
    with tempfile.TemporaryDirectory(prefix="codekernel-damages-") as name:
        place = Path(name)
        repo = _make_repository(place / "repo")
        lanes = [Lane(place / str(number), repo) for number in range(LANES)]
        expected = _make_pristine(lanes[0], place)
        with ThreadPoolExecutor(LANES) as pool:
            parts = pool.map(
                lambda lane: _run_lane(
                    lane, seed, range(lanes.index(lane), count, LANES), expected
                ),
                lanes,
            )
            results = [result for part in parts for result in part]
        for lane in lanes:
            lane.end()
    failures = tuple(text for text, has_failed, _ in results if has_failed)
    seen = Counter(kind for _, _, kind in results)
    states = ", ".join(f"{number} {kind}" for kind, number in sorted(seen.items()))
    return CampaignResult("damages", count, failures, (f"index when damaged: {states}",))


def _make_repository(repo: Path) -> Path:
    files = [file for source in SOURCES for file in sorted((ROOT / source).glob("*.*"))]
    chosen = random.Random(0).sample(files, min(MAX_FILES, len(files)))  # noqa: S311
    for file in chosen:
        target = repo / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    return repo


def _make_pristine(lane: Lane, place: Path) -> list[Any]:
    """Index the repository once: as it is while open, and after it was closed.

    Returns what each query finds, with words as they were written and as they are written anew
    from the catalog: which of equally good candidates come into question depends on their order.
    """
    lane.ask(do="open", root=str(lane.repo), folder=str(lane.index))
    lane.ask(do="settle")
    lane.ask(do="tidy")
    shutil.copytree(lane.index, place / KILLED)
    found: list[Any] = lane.ask(do="search", queries=QUERIES)["found"]
    lane.ask(do="close")
    shutil.copytree(lane.index, place / CLOSED)
    shutil.copytree(lane.shared, place / SHARED)
    shutil.rmtree(lane.index / "words")
    lane.ask(do="open", root=str(lane.repo), folder=str(lane.index))
    lane.ask(do="settle")
    anew: list[Any] = lane.ask(do="search", queries=QUERIES)["found"]
    lane.ask(do="close")
    return list(zip(found, anew, strict=True))


def _run_lane(
    lane: Lane, seed: int, numbers: range, expected: list[Any]
) -> list[tuple[str, bool, str]]:
    results = []
    for number in numbers:
        chance = random.Random(f"{seed}:{number}")  # noqa: S311
        state = chance.choice(STATES)
        done: list[str] = []
        try:
            reason = _try(lane, state, chance, done, expected)
        except ChildDied as error:
            reason = str(error)
        text = f"try {number} ({state}; {', '.join(done)}): {reason}"
        if reason:
            print(f"  {text}", flush=True)
        results.append((text, bool(reason), state))
    return results


def _try(
    lane: Lane, state: str, chance: random.Random, done: list[str], expected: list[Any]
) -> str:
    """Damage one copy and heal it; returns what was wrong, or nothing."""
    for folder in (lane.index, lane.shared):
        shutil.rmtree(folder, ignore_errors=True)
    pristine = lane.place.parent
    shutil.copytree(pristine / SHARED, lane.shared)
    if state != SHARED:
        shutil.copytree(pristine / (KILLED if state == KILLED else CLOSED), lane.index)
    damaged = lane.shared if state == SHARED else lane.index
    if state == OPEN:
        lane.ask(do="open", root=str(lane.repo), folder=str(lane.index))
        lane.ask(do="settle")
    for _ in range(chance.choice(DAMAGES_AT_ONCE)):
        done += [damage_something(damaged, chance)]
    if state == OPEN:
        reason = _see_search(lane, None) or _verify(lane) or _see_settled(lane, expected)
        lane.ask(do="close")
        if reason:
            return reason
    opened = lane.ask(do="open", root=str(lane.repo), folder=str(lane.index))
    if "error" in opened:
        return f"cannot be opened: {opened['error']}"
    reason = _see_search(lane, None) or _see_settled(lane, expected)
    lane.ask(do="close")
    return reason


def _verify(lane: Lane) -> str:
    return str(lane.ask(do="verify").get("error", ""))


def _see_settled(lane: Lane, expected: list[Any]) -> str:
    settled = lane.ask(do="settle")
    if "error" in settled or settled["state"] != "idle" or settled["crashes"]:
        return f"does not settle: {settled}"
    return _see_search(lane, expected)


def _see_search(lane: Lane, expected: list[Any] | None) -> str:
    """What is wrong with the answers: at once only unexpected errors, later every difference."""
    answer = lane.ask(do="search", queries=QUERIES)
    found = answer.get("found", [answer.get("error")])
    for place, hits in enumerate(found):
        if isinstance(hits, str) and (expected is not None or hits.startswith("UNEXPECTED")):
            return f"search failed: {hits}"
        if expected is not None and not any(_are_alike(hits, each) for each in expected[place]):
            return f"{QUERIES[place]!r} finds {hits} instead of {expected[place][0]}"
    return ""


def _are_alike(hits: list[Any], expected: list[Any]) -> bool:
    """Whether two answers are the same; which of equals comes last is left to chance.

    It is at the end of the answer, and at that of the candidates, whose number is a part of the
    score of their file.
    """
    if len(hits) != len(expected):
        return False
    scores = zip((hit[2] for hit in hits), (hit[2] for hit in expected), strict=True)
    if any(abs(one - other) > FILE_TOLERANCE for one, other in scores):
        return False
    last = min((hit[2] for hit in expected), default=0.0) + 2 * SCORE_TOLERANCE
    known = {(path, begin): own for path, begin, _, *own in hits}
    return all(
        (path, begin) in known and _are_near(known[path, begin], own)
        for path, begin, score, *own in expected
        if score > last
    )


def _are_near(found: list[float], expected: list[float]) -> bool:
    return all(
        abs(one - other) <= SCORE_TOLERANCE for one, other in zip(found, expected, strict=True)
    )
