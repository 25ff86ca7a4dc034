"""Campaign: kill -9 at any moment, while indexing, answering and editing; nothing is lost.

Each kill of an index is followed by a check that nothing acknowledged is lost or done again; after
some of them the index is compared with a clean one. Each kill of an edit must leave all of it or
nothing, and a journal by which it is undone.
"""

import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from trust_kills_conversations import kill_conversations, kill_shared_kernels
from trust_result import CampaignResult

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "kernel"))

from codekernel.agent.workspace.journal import ChangeJournal  # noqa: E402
from codekernel.agent.workspace.root import WorkspaceRoot  # noqa: E402
from support.killed_indexer import KilledIndexer  # noqa: E402 - the path above is needed

DEFAULT_TRIES = 174
# Of all kills; an edit is over in a tenth of the time that a kernel takes to start.
INDEX_SHARE, CONVERSATION_SHARE = 0.4, 0.15
LANES = 2
KILLS_BETWEEN_COMPARISONS = 16
KILLED_WRITER = ROOT / "tests" / "agent" / "killed_writer.py"
OLD, NEW = "old\n" * 1_000, "new\n" * 2_000
# More touches of files than any call below makes.
MAX_TOUCHES = 24
CALLS = (
    ("edit_file", {"path": "a.txt", "mode": "overwrite", "content": NEW}),
    ("create_file", {"path": "deep/er/b.txt", "content": NEW}),
    ("delete_path", {"path": "sub", "recursive": True}),
    ("delete_file", {"path": "a.txt"}),
)


def run(seed: int, tries: int | None) -> CampaignResult:
    """Kill so often; returns every kill after which something was lost, redone or half done."""
    count = DEFAULT_TRIES if tries is None else tries
    of_indexes = max(LANES, round(count * INDEX_SHARE))
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="codekernel-kills-") as name:
        place = Path(name)
        with ThreadPoolExecutor(LANES) as pool:
            parts = [
                pool.submit(_kill_index, place / str(lane), seed + lane, of_indexes // LANES)
                for lane in range(LANES)
            ]
            moments: Counter[str] = Counter()
            for part in parts:
                met, lost = part.result()
                moments += met
                failures += lost
        answers = max(1, round(count * CONVERSATION_SHARE))
        failures += kill_conversations(place / "conversations", seed, answers)
        failures += kill_shared_kernels(place / "shared", seed, answers)
        edits = max(0, count - of_indexes // LANES * LANES - 2 * answers)
        for number in range(edits):
            failures += _kill_edit(place / f"edit{number}", f"{seed}:{number}")
    told = ", ".join(f"{number} after {word!r}" for word, number in sorted(moments.items()))
    notes = (
        f"kills of an index: {told}",
        f"kills of an answer: {answers}, and {answers} of a shared kernel",
        f"kills of an edit: {edits}",
    )
    return CampaignResult("kills", count, tuple(failures), notes)


def _kill_index(place: Path, seed: int, kills: int) -> tuple[Counter[str], list[str]]:
    killed, failures = KilledIndexer(place, seed), []
    for number in range(1, kills + 1):
        try:
            killed.run_until_killed()
            if number % KILLS_BETWEEN_COMPARISONS == 0 or number == kills:
                killed.compare_with_clean(place / f"clean{number}")
        except AssertionError as error:
            failures.append(f"index, seed {seed}, kill {number}: {error}")
            break  # what follows would only repeat it
    return killed.moments, failures


def _kill_edit(place: Path, seed: str) -> Iterator[str]:
    """Make one change, killed before some touch of a file; yields what was wrong."""
    chance = random.Random(seed)  # noqa: S311
    repo, journal = place / "repo", place / "journal"
    (repo / "sub").mkdir(parents=True)
    for name in ("a.txt", "sub/c.txt", "sub/d.txt"):
        (repo / name).write_text(OLD, encoding="utf-8")
    before = _contents(repo)
    tool, arguments = chance.choice(CALLS)
    touch = chance.randint(1, MAX_TOUCHES)
    given = [str(repo), str(journal), str(touch), tool, json.dumps(arguments)]
    subprocess.run([sys.executable, str(KILLED_WRITER), *given], check=False)
    found = _contents(repo)
    if found not in (before, _after(tool, before)):
        yield f"edit {seed}: half of {tool} after a kill before touch {touch}"
    started_next = ChangeJournal(journal, WorkspaceRoot.from_path(repo))
    for change in reversed(started_next.changes):
        started_next.undo(change)
    if _contents(repo) != before:
        yield f"edit {seed}: {tool}, killed before touch {touch}, cannot be undone"


def _after(tool: str, before: dict[str, bytes]) -> dict[str, bytes]:
    """The files after the whole change."""
    if tool == "edit_file":
        return {**before, "a.txt": NEW.encode()}
    if tool == "create_file":
        return {**before, "deep/er/b.txt": NEW.encode()}
    gone = "sub/" if tool == "delete_path" else "a.txt"
    return {name: content for name, content in before.items() if not name.startswith(gone)}


def _contents(repo: Path) -> dict[str, bytes]:
    """Every file but the temporary ones that a kill may leave."""
    return {
        path.relative_to(repo).as_posix(): path.read_bytes()
        for path in repo.rglob("*")
        if path.is_file() and not path.name.startswith(".codekernel-")
    }
