"""Snapshots of a folder: what changed between two moments, and nothing of the user's touched."""

import os
import subprocess
from pathlib import Path

import pytest
from codekernel.agent.workspace.snapshot import (
    MAX_CHANGED_FILES,
    MAX_SNAPSHOT_BYTES,
    FileDelta,
    FolderSnapshots,
    SnapshotUnavailable,
)
from support.environ import Environ

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.autocrlf=true")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [*GIT, *words], cwd=folder, check=True, capture_output=True, encoding="utf-8"
    )
    return done.stdout


@pytest.fixture
def snapshots(user_data: Path) -> FolderSnapshots:
    return FolderSnapshots(user_data)


@pytest.fixture
def project(repo: Path) -> Path:
    """A repository with a commit, a change that is staged, one that is not, and ignored files."""
    git(repo, "init", "-q")
    (repo / ".gitignore").write_text("build/\n")
    (repo / ".gitattributes").write_text("*.txt text eol=lf\n")
    (repo / "src").mkdir()
    (repo / "src" / "kept.py").write_bytes(b"kept\n")
    (repo / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "first")
    (repo / "staged.py").write_bytes(b"staged\n")
    git(repo, "add", "staged.py")
    (repo / "untracked.py").write_bytes(b"untracked\n")
    (repo / "build").mkdir()
    (repo / "build" / "out").write_bytes(b"1")
    return repo


def by_name(deltas: list[FileDelta], root: Path) -> dict[str, tuple[bytes | None, bytes | None]]:
    return {
        delta.path.relative_to(root).as_posix(): (delta.before, delta.after) for delta in deltas
    }


def test_changed_created_and_deleted_files_are_listed_byte_for_byte(
    snapshots: FolderSnapshots, project: Path
) -> None:
    with snapshots.open(project) as before:
        (project / "crlf.txt").write_bytes(b"one\r\nTWO\r\n\xff")
        (project / "untracked.py").unlink()
        (project / "staged.py").write_bytes(b"changed\n")
        (project / "new" / "deep").mkdir(parents=True)
        (project / "new" / "deep" / "a b\n.py").write_bytes(b"new")
        deltas = before.list_changes()
    assert by_name(deltas, project) == {
        "crlf.txt": (b"one\r\ntwo\r\n", b"one\r\nTWO\r\n\xff"),
        "new/deep/a b\n.py": (None, b"new"),
        "staged.py": (b"staged\n", b"changed\n"),
        "untracked.py": (b"untracked\n", None),
    }
    created = next(delta for delta in deltas if delta.before is None)
    assert created.new_folders == (project / "new", project / "new" / "deep")


def test_index_refs_and_objects_of_the_user_stay_as_they_are(
    snapshots: FolderSnapshots, project: Path
) -> None:
    def look() -> tuple[bytes, str, list[Path]]:
        objects = sorted((project / ".git").rglob("*"))
        return (project / ".git" / "index").read_bytes(), git(project, "show-ref"), objects

    before = look()
    with snapshots.open(project) as taken:
        (project / "untracked.py").write_bytes(b"other\n")
        assert len(taken.list_changes()) == 1
    assert look() == before


def test_ignored_files_and_unchanged_ones_are_not_listed(
    snapshots: FolderSnapshots, project: Path
) -> None:
    with snapshots.open(project) as before:
        (project / "build" / "out").write_bytes(b"2")
        (project / "src" / "kept.py").write_bytes(b"kept\n")
        assert before.list_changes() == []


def test_only_the_folder_of_the_session_is_looked_at(
    snapshots: FolderSnapshots, project: Path
) -> None:
    with snapshots.open(project / "src") as before:
        (project / "outside.py").write_bytes(b"x")
        (project / "src" / "build").mkdir()
        (project / "src" / "build" / "ignored").write_bytes(b"x")
        (project / "src" / "inside.py").write_bytes(b"x")
        assert list(by_name(before.list_changes(), project)) == ["src/inside.py"]


def test_a_folder_without_git_has_snapshots_too(snapshots: FolderSnapshots, repo: Path) -> None:
    (repo / "a.txt").write_bytes(b"1\r\n")
    with snapshots.open(repo) as before:
        (repo / "a.txt").write_bytes(b"2\r\n")
        assert by_name(before.list_changes(), repo) == {"a.txt": (b"1\r\n", b"2\r\n")}
    assert not (repo / ".git").exists()


def test_nested_repositories_do_not_prevent_a_snapshot(
    snapshots: FolderSnapshots, project: Path
) -> None:
    nested = project / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    (nested / "file").write_bytes(b"x")
    with snapshots.open(project) as before:
        (project / "new.py").write_bytes(b"x")
        assert list(by_name(before.list_changes(), project)) == ["new.py"]


def test_what_a_kill_left_behind_is_healed(
    snapshots: FolderSnapshots, project: Path, user_data: Path
) -> None:
    with snapshots.open(project):
        pass
    (shadow,) = (user_data / "agent" / "snapshots").iterdir()
    (shadow / "index.lock").write_bytes(b"")
    with snapshots.open(project) as before:
        (project / "new.py").write_bytes(b"x")
        assert len(before.list_changes()) == 1


def test_two_turns_in_one_folder_at_a_time_see_both_changes(
    snapshots: FolderSnapshots, project: Path
) -> None:
    with snapshots.open(project) as first:
        (project / "one.py").write_bytes(b"x")
        with snapshots.open(project) as second:
            (project / "two.py").write_bytes(b"x")
            assert list(by_name(second.list_changes(), project)) == ["two.py"]
        assert list(by_name(first.list_changes(), project)) == ["one.py", "two.py"]


def test_without_git_it_is_said(snapshots: FolderSnapshots, repo: Path, environ: Environ) -> None:
    environ["PATH"] = ""
    with pytest.raises(SnapshotUnavailable, match="git is not installed"), snapshots.open(repo):
        pass


def test_a_folder_that_takes_too_long_is_said(user_data: Path, project: Path) -> None:
    snapshots = FolderSnapshots(user_data, timeout_seconds=0.0)
    with pytest.raises(SnapshotUnavailable, match="too large"), snapshots.open(project):
        pass


def test_too_many_changes_are_said(snapshots: FolderSnapshots, project: Path) -> None:
    with snapshots.open(project) as before:
        for number in range(MAX_CHANGED_FILES + 1):
            (project / f"new{number}").write_bytes(b"x")
        with pytest.raises(SnapshotUnavailable, match="501 files were changed"):
            before.list_changes()


def test_snapshots_that_have_grown_too_large_begin_anew(
    snapshots: FolderSnapshots, project: Path, user_data: Path
) -> None:
    with snapshots.open(project):
        pass
    (shadow,) = (user_data / "agent" / "snapshots").iterdir()
    (shadow / "mark").write_bytes(b"")
    os.truncate(shadow / "mark", MAX_SNAPSHOT_BYTES)  # which takes no room
    with snapshots.open(project):
        assert not (shadow / "mark").exists()
