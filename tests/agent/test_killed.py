"""A kill in the middle of a write leaves the old file or the new one, and can be undone."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from codekernel.agent.workspace.atomic_write import TemporaryFileLog
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from support.undoing import undo_all

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="kill -9 is of POSIX"),
]

PROGRAM = Path(__file__).with_name("killed_writer.py")
OLD, NEW = "old\n" * 1_000, "new\n" * 2_000
# More than stands in a line of the journal.
LARGE = "old and large\n" * 30_000
CALLS = {
    "edit_file": {"path": "a.txt", "mode": "overwrite", "content": NEW},
    "edit_file of a large file": {"path": "large.txt", "mode": "overwrite", "content": NEW},
    "create_file": {"path": "deep/er/b.txt", "content": NEW},
    "delete_path": {"path": "sub", "recursive": True},
    "delete_file": {"path": "a.txt"},
}
RANDOM_KILLS = 12


def contents(repo: Path) -> dict[str, bytes]:
    """Every file but the temporary ones that a kill may leave."""
    return {
        path.relative_to(repo).as_posix(): path.read_bytes()
        for path in repo.rglob("*")
        if path.is_file() and not path.name.startswith(".codekernel-")
    }


def temporary(repo: Path) -> list[Path]:
    return list(repo.rglob(".codekernel-*"))


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "c.txt").write_text(OLD)
    (folder / "sub" / "d.txt").write_text(OLD)
    (folder / "a.txt").write_text(OLD)
    (folder / "large.txt").write_text(LARGE)
    return folder


@pytest.mark.parametrize("call", CALLS)
def test_a_kill_before_any_touch_of_a_file_leaves_all_or_nothing(
    call: str, repo: Path, tmp_path: Path
) -> None:
    before = contents(repo)
    after = {
        "edit_file": {**before, "a.txt": NEW.encode()},
        "edit_file of a large file": {**before, "large.txt": NEW.encode()},
        "create_file": {**before, "deep/er/b.txt": NEW.encode()},
        "delete_path": {"a.txt": OLD.encode(), "large.txt": LARGE.encode()},
        "delete_file": {name: data for name, data in before.items() if name != "a.txt"},
    }[call]
    seen = []
    left_by_kills = 0
    for number in itertools.count(1):
        journal = tmp_path / f"journal-{number}"
        tool = call.partition(" ")[0]
        given = [str(repo), str(journal), str(number), tool, json.dumps(CALLS[call])]
        done = subprocess.run([sys.executable, str(PROGRAM), *given], check=False)
        found = contents(repo)
        assert found in (before, after), f"half of it after a kill before touch {number}"
        seen.append(found == after)
        left_by_kills += len(temporary(repo))
        started_next = ChangeJournal(journal, WorkspaceRoot.from_path(repo))
        assert temporary(repo) == []
        assert contents(repo) == found
        undo_all(started_next)
        assert contents(repo) == before
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
    assert len(seen) > 3
    assert not seen[0]
    assert seen[-1]
    assert left_by_kills or call.startswith("delete")


# Writes one state after the other, as fast as it can, and says when it begins.
WRITER = """
import itertools, sys
from pathlib import Path
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.agent.workspace.atomic_write import TemporaryFileLog
from codekernel.agent.workspace.atomic_write import replace_file, make_temporary_name
file = Path(sys.argv[1])
root, notes = WorkspaceRoot.from_path(file.parent), TemporaryFileLog(Path(sys.argv[3]))
for letter in itertools.cycle("bc"):
    print(letter, flush=True)
    name = make_temporary_name()
    with notes.track((root.folder, name)), root.reach(file.name) as place:
        replace_file(place, letter.encode() * int(sys.argv[2]), place.status, name)
"""
SIZE = 20_000_000


def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one(
    repo: Path, tmp_path: Path
) -> None:
    file = repo / "a.txt"
    states = {letter * SIZE for letter in (b"a", b"b", b"c")}
    file.write_bytes(b"a" * SIZE)
    interrupted = 0
    for kill in range(RANDOM_KILLS):
        words = [sys.executable, "-c", WRITER, str(file), str(SIZE), str(tmp_path / "notes")]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            threading.Event().wait(kill * 0.007)  # another moment each time
            writer.send_signal(signal.SIGKILL)
        assert file.read_bytes() in states
        left = temporary(repo)
        interrupted += len(left)
        removed = TemporaryFileLog(tmp_path / "notes").remove_stale()
        assert sorted(removed) == sorted(path.name for path in left)
        assert temporary(repo) == []
    assert interrupted, "no kill came in the middle of a write"
