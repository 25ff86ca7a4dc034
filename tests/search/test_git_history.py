"""Whatever the configuration of a repository or a person says, its history is read the same."""

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from codekernel.search.git_history import (
    Commit,
    HistoryUnavailable,
    read_commits,
    read_head,
)
from support.git_history import GitHistory

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes")


@pytest.fixture
def history(tmp_path: Path) -> GitHistory:
    history = GitHistory(tmp_path / "project")
    history.commit("Add a cache for parsed headers", {"src/store.py": "x = 1\n"})
    history.commit("Close the socket when a peer vanishes", {"src/net.py": "y = 1\n"})
    return history


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "was-run"


@pytest.fixture
def program(tmp_path: Path, marker: Path) -> Path:
    """What must never be run."""
    path = tmp_path / "program"
    path.write_text(f"#!/bin/sh\ntouch '{marker}'\ncat\n")
    path.chmod(0o755)
    return path


def pipe_at(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return path


def read(folder: Path) -> list[Commit]:
    return list(read_commits(folder, silence_timeout_seconds=60))


SETTINGS_WITH_A_PIPE = (
    "mailmap.file", "core.attributesFile", "core.excludesFile", "include.path", "commit.template",
    "gpg.ssh.allowedSignersFile", "blame.ignoreRevsFile", "fsck.skipList", "diff.orderFile",
)  # fmt: skip
SETTINGS_WITH_A_PROGRAM = (
    "core.fsmonitor", "core.pager", "pager.log", "diff.external", "core.sshCommand", "gpg.program",
    "core.editor", "core.askPass", "core.alternateRefsCommand", "uploadpack.packObjectsHook",
    "diff.evil.textconv", "diff.evil.command", "filter.evil.smudge", "filter.evil.clean",
    "credential.helper",
)  # fmt: skip


@pytest.mark.parametrize("setting", SETTINGS_WITH_A_PIPE)
def test_a_pipe_that_a_setting_names_is_not_waited_for(
    history: GitHistory, tmp_path: Path, setting: str
) -> None:
    clean = read(history.folder)
    history.git("config", setting, str(pipe_at(tmp_path / "pipe")))
    assert read(history.folder) == clean


def test_no_program_that_the_settings_name_is_run(
    history: GitHistory, program: Path, marker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (history.folder / ".gitattributes").write_text("* diff=evil filter=evil\n")
    clean = read(history.folder)
    for setting in SETTINGS_WITH_A_PROGRAM:
        history.git("config", setting, str(program))
    for setting, value in {
        "log.showSignature": "true",
        "alias.log": f"!{program}",
        "core.hooksPath": str(program.parent),
        "core.worktree": str(program.parent),
        "log.mailmap": "true",
        "core.quotePath": "true",
        "diff.noprefix": "true",
        "diff.renames": "copies",
        "log.follow": "true",
        "core.bare": "true",
        "core.repositoryFormatVersion": "99",
        "extensions.unheardOf": "true",
        "remote.origin.url": f"ext::{program}",
        "remote.origin.promisor": "true",
        "protocol.ext.allow": "always",
    }.items():
        with (history.folder / ".git" / "config").open("a") as config:
            section, _, key = setting.rpartition(".")
            name, _, of = section.partition(".")
            config.write(f"[{name}{f' {chr(34)}{of}{chr(34)}' if of else ''}]\n\t{key} = {value}\n")
    for name, value in {
        **dict.fromkeys(
            ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_ASKPASS"), str(program)
        ),
        "GIT_DIR": str(program.parent),
        "GIT_TRACE": str(marker),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "diff.external",
        "GIT_CONFIG_VALUE_0": str(program),
        "GIT_EXEC_PATH": str(program.parent),
        "GIT_REPLACE_REF_BASE": "refs/heads",
    }.items():
        monkeypatch.setenv(name, value)
    assert read(history.folder) == clean
    assert not marker.exists()


@pytest.mark.parametrize("place", [".mailmap", ".gitattributes", ".git/info/attributes",
                                   ".git/info/grafts", ".git/config", ".git/config.worktree",
                                   ".git/index"])  # fmt: skip
def test_a_pipe_in_place_of_a_file_of_git_is_not_waited_for(
    history: GitHistory, place: str
) -> None:
    clean = read(history.folder)
    pipe_at(history.folder / place)
    assert read(history.folder) == clean


@pytest.mark.parametrize("place", [".git/HEAD", ".git/refs/heads/main"])
def test_a_pipe_in_place_of_what_is_needed_is_told(history: GitHistory, place: str) -> None:
    pipe_at(history.folder / place)
    with pytest.raises(HistoryUnavailable):
        read(history.folder)


def test_an_object_that_is_a_pipe_is_given_up_and_git_is_ended(history: GitHistory) -> None:
    commit = read_head(history.folder).commit
    pipe_at(history.folder / ".git" / "objects" / commit[:2] / commit[2:])
    with pytest.raises(HistoryUnavailable, match="said nothing"):
        list(read_commits(history.folder, silence_timeout_seconds=0.2))


def test_replaced_commits_and_other_peoples_ownership_change_nothing(history: GitHistory) -> None:
    clean = read(history.folder)
    history.git("replace", "HEAD", "HEAD~1")
    history.git("pack-refs", "--all")
    assert read(history.folder) == clean


def test_a_linked_work_tree_a_submodule_and_a_shallow_clone_have_their_history(
    history: GitHistory, tmp_path: Path
) -> None:
    clean = read(history.folder)
    history.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    assert read(tmp_path / "linked") == clean
    history.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "detached"))
    assert read(tmp_path / "detached" / "src")[0].paths == ("net.py",)
    shallow = tmp_path / "shallow"
    history.git("clone", "-q", "--depth", "1", history.folder.as_uri(), str(shallow))
    assert [commit.message for commit in read(shallow)] == [clean[0].message]
    shared = tmp_path / "shared"
    history.git("clone", "-qs", str(history.folder), str(shared))
    assert read(shared) == clean


def test_a_repository_of_sha256_has_its_history(tmp_path: Path) -> None:
    folder = tmp_path / "long"
    folder.mkdir()
    git = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q", "--object-format=sha256"], check=True)
    (folder / "a.py").write_text("x\n")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "Keep the answer"], check=True)
    assert [commit.paths for commit in read(folder)] == [("a.py",)]


@pytest.mark.parametrize(
    "content", ["ref: ../../../etc/passwd", "ref: refs/heads/../../x", "ref: refs/heads/main\0",
                "", "nonsense", "ref: HEAD", "ref: refs/heads/.invalid"],
)  # fmt: skip
def test_a_head_that_leads_elsewhere_is_refused(history: GitHistory, content: str) -> None:
    (history.folder / ".git" / "HEAD").write_text(content)
    with pytest.raises(HistoryUnavailable):
        read_head(history.folder)


def test_a_branch_that_leads_to_itself_ends(history: GitHistory) -> None:
    (history.folder / ".git" / "refs" / "heads" / "main").write_text("ref: refs/heads/main\n")
    with pytest.raises(HistoryUnavailable):
        read_head(history.folder)


def test_reading_may_stop_early_and_changes_nothing(history: GitHistory) -> None:
    for number in range(3):
        history.commit(f"Keep the last {number} answers of a peer", {"net.py": f"{number}\n"})
    before = sorted(path.as_posix() for path in history.folder.rglob("*"))
    newest = list(islice(read_commits(history.folder), 1))
    assert newest[0].message == "Keep the last 2 answers of a peer\n"
    assert sorted(path.as_posix() for path in history.folder.rglob("*")) == before


def test_a_folder_without_history_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(HistoryUnavailable, match="not in a git repository"):
        list(read_commits(tmp_path))
    empty = GitHistory(tmp_path / "empty")
    with pytest.raises(HistoryUnavailable, match="no commits yet"):
        list(read_commits(empty.folder))


def test_without_git_a_sentence_says_so(
    history: GitHistory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    history.commit("Keep the last answer of a peer", {"net.py": "x\n"})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HistoryUnavailable, match="git is not installed"):
        list(read_commits(history.folder))
