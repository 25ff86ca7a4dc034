import base64
import os
import subprocess
from pathlib import Path

import pytest
from codekernel.domain.agent_sessions import FolderQuestion, FolderQuestionKind
from codekernel.sync.session_folder import (
    MAX_FILE_BYTES,
    MAX_GIT_OUTPUT_BYTES,
    answer_question,
)

KIND = FolderQuestionKind


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    top = tmp_path / "repository"
    (top / "src").mkdir(parents=True)
    (top / "src" / "main.py").write_text("print(1)\n")
    (top / "notes.txt").write_text("notes\n")
    (tmp_path / "outside.txt").write_text("secret\n")
    return top


def run_git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    git = ["git", *who, *arguments]
    subprocess.run(git, cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(folder: Path) -> Path:
    run_git(folder, "init", "-q", "-b", "main")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-q", "-m", "first")
    (folder / "src" / "main.py").write_text("print(1)\nprint(2)\n")
    (folder / "new.txt").write_text("new\n")
    return folder


def test_a_file_is_read_as_base64(folder: Path) -> None:
    answer = answer_question(folder, FolderQuestion(KIND.FILE, "src/main.py"))
    assert base64.b64decode(answer.content) == b"print(1)\n"
    assert (answer.size, answer.error) == (9, "")
    assert answer.modified_at > 1_000_000_000_000


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/passwd", "src/../../outside.txt", ""])
@pytest.mark.parametrize("kind", [KIND.FILE, KIND.DIFF])
def test_nothing_outside_is_read(folder: Path, path: str, kind: FolderQuestionKind) -> None:
    answer = answer_question(folder, FolderQuestion(kind, path))
    assert answer.error
    assert not answer.content
    assert not answer.stdout


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_links_that_lead_outside_are_not_followed(folder: Path) -> None:
    (folder / "link.txt").symlink_to("../outside.txt")
    (folder / "up").symlink_to("..")
    assert answer_question(folder, FolderQuestion(KIND.FILE, "link.txt")).error
    assert answer_question(folder, FolderQuestion(KIND.LIST, "up")).error
    assert answer_question(folder, FolderQuestion(KIND.FILE, "up/outside.txt")).error


def test_a_file_that_is_too_large_is_not_read(folder: Path) -> None:
    os.truncate(folder / "notes.txt", MAX_FILE_BYTES + 1)
    answer = answer_question(folder, FolderQuestion(KIND.FILE, "notes.txt"))
    assert "too large" in answer.error


def test_folders_are_listed_first(folder: Path) -> None:
    answer = answer_question(folder, FolderQuestion(KIND.LIST))
    assert [(each.name, each.type) for each in answer.entries] == [
        ("src", "directory"),
        ("notes.txt", "file"),
    ]
    (inner,) = answer_question(folder, FolderQuestion(KIND.LIST, "src")).entries
    assert (inner.path, inner.size) == ("src/main.py", 9)
    assert answer_question(folder, FolderQuestion(KIND.LIST, "notes.txt")).error


def test_files_are_found_by_parts_of_their_path(folder: Path) -> None:
    (folder / ".gitignore").write_text("build/\n")
    (folder / "build").mkdir()
    (folder / "build" / "main.py").write_text("x")
    answer = answer_question(folder, FolderQuestion(KIND.FIND, query="MAIN src"))
    assert [each.path for each in answer.entries] == ["src/main.py"]
    found = answer_question(folder, FolderQuestion(KIND.FIND, limit=1)).entries
    assert len(found) == 1


def test_git_tells_what_changed(repository: Path) -> None:
    status = answer_question(repository, FolderQuestion(KIND.STATUS))
    assert "# branch.head main" in status.stdout
    assert "? new.txt" in status.stdout
    lines = answer_question(repository, FolderQuestion(KIND.CHANGED_LINES))
    assert lines.stdout == "1\t0\tsrc/main.py\n"
    assert (
        answer_question(repository, FolderQuestion(KIND.CHANGED_LINES, is_staged=True)).stdout == ""
    )
    diff = answer_question(repository, FolderQuestion(KIND.DIFF, "src/main.py"))
    assert "+print(2)" in diff.stdout
    assert (diff.exit_code, diff.error) == (0, "")


def test_a_deleted_file_has_a_diff(repository: Path) -> None:
    (repository / "notes.txt").unlink()
    diff = answer_question(repository, FolderQuestion(KIND.DIFF, "notes.txt"))
    assert "-notes" in diff.stdout


def test_a_folder_without_git_is_said(folder: Path) -> None:
    answer = answer_question(folder, FolderQuestion(KIND.STATUS))
    assert answer.error
    assert answer.exit_code


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_the_repository_starts_no_program(repository: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "diff.external", "core.pager", "diff.odd.textconv"):
        run_git(repository, "config", name, str(script))
    (repository / ".gitattributes").write_text("*.py diff=odd\n")
    for kind in (KIND.STATUS, KIND.CHANGED_LINES, KIND.DIFF):
        assert not answer_question(repository, FolderQuestion(kind, "src/main.py")).error
    assert not mark.exists()


def test_output_without_end_is_cut(repository: Path) -> None:
    (repository / "src" / "main.py").write_text("pass\n" * (MAX_GIT_OUTPUT_BYTES // 5))
    answer = answer_question(repository, FolderQuestion(KIND.DIFF, "src/main.py"))
    assert "more" in answer.error
