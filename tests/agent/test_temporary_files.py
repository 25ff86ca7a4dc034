import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from codekernel.agent.workspace.atomic_write import TemporaryFileLog
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot

OURS = ".codekernel-0123456789abcdef.tmp"
# Notes a file of the root, makes it, says so, and waits for its end.
WRITER = """
import sys
from pathlib import Path
from codekernel.agent.workspace.atomic_write import TemporaryFileLog
notes, root, name = TemporaryFileLog(Path(sys.argv[1])), Path(sys.argv[2]), sys.argv[3]
with notes.track((root, name)):
    (root / name).write_bytes(b"half")
    print("written", flush=True)
    sys.stdin.read()
    (root / name).unlink(missing_ok=True)
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    (folder / "src").mkdir(parents=True)
    return folder.resolve()


def left_by_a_kill(notes: Path, *files: tuple[Path, str]) -> None:
    notes.mkdir(exist_ok=True)
    lines = "".join(json.dumps([str(root), path]) + "\n" for root, path in files)
    (notes / "0011223344556677.jsonl").write_text(lines + '["half of a li')


def test_what_a_living_process_writes_stays_and_what_a_killed_one_left_goes(
    repo: Path, tmp_path: Path
) -> None:
    notes = TemporaryFileLog(tmp_path / "notes")
    words = [sys.executable, "-c", WRITER, str(tmp_path / "notes"), str(repo), f"src/{OURS}"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        assert notes.remove_stale() == []
        assert (repo / "src" / OURS).exists()
        writer.kill()
    assert notes.remove_stale() == [f"src/{OURS}"]
    assert list((repo / "src").iterdir()) == []
    assert list((tmp_path / "notes").iterdir()) == []


def test_a_process_that_ends_well_leaves_no_notes(repo: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-c", WRITER, str(tmp_path / "notes"), str(repo), OURS]
    ended = subprocess.run(words, input=b"", check=True, capture_output=True)
    assert ended.stderr == b""
    assert list((tmp_path / "notes").iterdir()) == []
    assert not (repo / OURS).exists()


@pytest.mark.parametrize(
    "path",
    ["src/mine.txt", ".codekernel-notes.tmp", f"../{OURS}", f"src/../../{OURS}", "a\0b/" + OURS],
)
def test_nothing_is_removed_that_is_not_ours_whatever_the_notes_say(
    path: str, repo: Path, tmp_path: Path
) -> None:
    others = [repo / "src" / "mine.txt", repo / ".codekernel-notes.tmp", tmp_path / OURS]
    for file in others:
        file.write_text("mine")
    left_by_a_kill(tmp_path / "notes", (repo, path))
    assert TemporaryFileLog(tmp_path / "notes").remove_stale() == []
    assert all(file.exists() for file in others)


@pytest.mark.skipif(os.name == "nt", reason="POSIX links")
def test_a_folder_that_has_become_a_link_is_not_followed(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / OURS).write_text("half")
    (repo / "src").rmdir()
    (repo / "src").symlink_to(tmp_path / "outside")
    left_by_a_kill(tmp_path / "notes", (repo, f"src/{OURS}"))
    assert TemporaryFileLog(tmp_path / "notes").remove_stale() == []
    assert (tmp_path / "outside" / OURS).exists()


def test_the_next_agent_of_any_session_removes_what_a_killed_one_left(
    repo: Path, user_data: Path
) -> None:
    (repo / OURS).write_text("half")
    (repo / "src" / OURS).mkdir()
    (repo / "src" / OURS / "copied.txt").write_text("half of a tree")
    (user_data / "agent").mkdir(parents=True)
    left_by_a_kill(user_data / "agent" / "unfinished", (repo, OURS), (repo, f"src/{OURS}"))
    ChangeJournal.from_user_data(user_data, "2bc53e39", WorkspaceRoot.from_path(repo))
    assert [path.name for path in repo.rglob("*")] == ["src"]


def test_what_cannot_be_reached_is_looked_for_again_at_the_next_start(
    repo: Path, tmp_path: Path
) -> None:
    (repo / OURS).write_text("half")
    left_by_a_kill(tmp_path / "notes", (repo, OURS))
    repo.rename(tmp_path / "unplugged")
    assert TemporaryFileLog(tmp_path / "notes").remove_stale() == []
    (tmp_path / "unplugged").rename(repo)
    assert TemporaryFileLog(tmp_path / "notes").remove_stale() == [OURS]


def test_notes_of_many_folders_do_not_use_up_descriptors(repo: Path, tmp_path: Path) -> None:
    notes = [TemporaryFileLog(tmp_path / "notes" / str(number)) for number in range(30)]
    for each in notes:
        with each.track((repo, OURS)):
            pass
    left = list((tmp_path / "notes").glob("*/*.jsonl"))
    assert 0 < len(left) < 10
