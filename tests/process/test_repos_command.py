"""``codekernel repos``: what it lists, adds, removes and cleans, with and without a kernel."""

import json
import os
import pty
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from codekernel.runtime.index_folders import find_unregistered_index
from codekernel.storage.user_data import UserData
from support.conversation_client import chat_settings, write_sources
from support.kernel_process import KernelProcess
from support.polling import wait_until
from support.shared_kernel import ENVIRON, SharedKernel

QUERY = "how is a session closed"
TIMEOUT_SECONDS = 120
DAY = 24 * 60 * 60


@pytest.fixture
def other(tmp_path: Path) -> Path:
    folder = tmp_path / "other"
    folder.mkdir()
    write_sources(folder)
    return folder


def make_environ(shared: SharedKernel) -> dict[str, str]:
    return {**os.environ, **ENVIRON, "CODEKERNEL_USER_DATA": str(shared.user_data)}


def run(shared: SharedKernel, folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "codekernel", *words],
        cwd=folder,
        env=make_environ(shared),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def run_on_terminal(shared: SharedKernel, folder: Path, answer: str, *words: str) -> str:
    """Run a command on a terminal and type ``answer``; what the terminal showed."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "codekernel", *words]
    with subprocess.Popen(
        command, cwd=folder, env=make_environ(shared), stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        os.write(ours, answer.encode())
        shown = b""
        with suppress(OSError):  # the end of a terminal
            while part := os.read(ours, 4096):
                shown += part
        os.close(ours)
        process.wait(TIMEOUT_SECONDS)
    return shown.decode()


def list_indexes(shared: SharedKernel, folder: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(run(shared, folder, "repos", "--json").stdout)
    return listed


def age(shared: SharedKernel, index: dict[str, Any], days: float) -> None:
    """Make an index look unused for so long."""
    used = shared.user_data / "index" / index["folder"] / "used"
    moment = time.time() - days * DAY
    os.utime(used, (moment, moment))


def test_a_repository_that_was_searched_is_listed_for_terminals_and_for_the_app(
    shared: SharedKernel, repo: Path, other: Path
) -> None:
    assert "no repository is registered" in run(shared, repo, "repos").stdout
    assert run(shared, repo, "search", QUERY, "--repo", ".").returncode == 0
    assert "is the repository other" in run(shared, repo, "repos", "add", str(other)).stdout
    with shared.attach() as front_end:
        names = [each["name"] for each in front_end.request("getRepos")["data"]["repoList"]]
        assert names == [repo.name, "other"]
        front_end.request("openRepo", repoName=repo.name, sessionId=3)
        mine, second = run(shared, repo, "repos", "list").stdout.splitlines()
    assert mine.startswith(f"{repo.name}: {repo}; 2 files, 2 chunks; ")
    assert f"used {time.strftime('%Y-')}" in mine
    assert mine.endswith("open in serve")
    assert second.startswith(f"other: {other}; ")


def test_one_that_is_open_is_removed_only_by_force(
    shared: SharedKernel, repo: Path, other: Path
) -> None:
    with shared.attach() as front_end:
        front_end.open(repo, 3)
        refused = run(shared, repo, "repos", "remove", repo.name)
        assert refused.returncode == 2
        assert "is open in serve" in refused.stderr
        assert [each["repoName"] for each in list_indexes(shared, repo)] == [repo.name]
        forced = run(shared, repo, "repos", "remove", "--force", repo.name)
        assert (forced.returncode, "is forgotten" in forced.stdout) == (0, True)
    assert list_indexes(shared, repo) == []
    assert (repo / "session.py").is_file()
    assert run(shared, repo, "repos", "add", str(other)).returncode == 0
    by_path = run(shared, repo, "repos", "remove", str(other), "--json")
    assert json.loads(by_path.stdout) == {"repoName": "other"}


def test_an_index_whose_folder_is_gone_is_cleaned_and_a_dry_run_changes_nothing(
    shared: SharedKernel, repo: Path, other: Path
) -> None:
    assert run(shared, repo, "search", QUERY, "--repo", ".").returncode == 0
    assert run(shared, repo, "repos", "add", str(other)).returncode == 0
    orphan = shared.user_data / "index" / "folder-0123"
    orphan.mkdir()
    (orphan / "big").write_bytes(b"x" * 3_000_000)
    other.rename(other.with_name("moved"))
    assert [each["gone"] for each in list_indexes(shared, repo)] == [False, True, False]
    dry = run(shared, repo, "repos", "clean", "--dry-run").stdout
    assert "would delete the index of folder-0123 (2.9 MB): no repository is registered" in dry
    assert f"would delete the index of {other}" in dry
    assert [each["gone"] for each in list_indexes(shared, repo)] == [False, True, False]
    assert orphan.is_dir()
    cleaned = json.loads(run(shared, repo, "repos", "clean", "--json").stdout)
    assert {each["reason"] for each in cleaned} == {
        "its folder is gone",
        "no repository is registered for it",
    }
    assert not orphan.exists()
    assert [each["repoName"] for each in list_indexes(shared, repo)] == [repo.name]


def test_on_a_terminal_cleaning_asks_first(shared: SharedKernel, repo: Path, other: Path) -> None:
    assert run(shared, repo, "repos", "add", str(other)).returncode == 0
    other.rename(other.with_name("moved"))
    shown = run_on_terminal(shared, repo, "n\n", "repos", "clean")
    assert "Delete them? [y/N]" in shown
    assert "nothing was deleted" in shown
    assert len(list_indexes(shared, repo)) == 1
    assert "deleted: 1 index" in run_on_terminal(shared, repo, "y\n", "repos", "clean")
    assert list_indexes(shared, repo) == []
    assert "0 indexes, 0.0 MB" in run_on_terminal(shared, repo, "", "repos", "clean")


def test_a_folder_that_was_only_searched_is_forgotten_after_some_months_and_others_stay(
    shared: SharedKernel, repo: Path, other: Path
) -> None:
    assert run(shared, repo, "search", QUERY, "--repo", ".").returncode == 0
    assert run(shared, repo, "repos", "add", str(other)).returncode == 0
    for index in list_indexes(shared, repo):
        age(shared, index, 89)
    assert json.loads(run(shared, repo, "repos", "clean", "--json").stdout) == []
    for index in list_indexes(shared, repo):
        age(shared, index, 91)
    cleaned = json.loads(run(shared, repo, "repos", "clean", "--json").stdout)
    assert [each["reason"] for each in cleaned] == ["not used for 91 days"] * 2
    # What the user has added stays in the list, without its index.
    (left,) = list_indexes(shared, repo)
    assert (left["repoName"], left["files"], left["usedAt"]) == ("other", 0, 0)


def test_what_a_window_has_opened_is_not_forgotten(shared: SharedKernel, repo: Path) -> None:
    assert run(shared, repo, "search", QUERY, "--repo", ".").returncode == 0
    with shared.attach() as front_end:
        assert front_end.request("openRepo", repoName=repo.name, sessionId=3)
    age(shared, list_indexes(shared, repo)[0], 1000)
    assert run(shared, repo, "repos", "clean").returncode == 0
    assert [each["repoName"] for each in list_indexes(shared, repo)] == [repo.name]


def test_an_index_of_an_earlier_version_is_listed_and_then_taken_over(
    shared: SharedKernel, repo: Path
) -> None:
    assert run(shared, repo, "search", QUERY, "--repo", ".").returncode == 0
    assert run(shared, repo, "stop").returncode == 0
    # As a search left it that had an index of its own and registered nothing.
    place = UserData(shared.user_data)
    place.repo_index_folder(1).rename(find_unregistered_index(place, repo))
    shutil.rmtree(place.database_folder)
    (alone,) = list_indexes(shared, repo)
    assert (alone["repoName"], alone["path"], alone["files"]) == ("", str(repo), 2)
    line = run(shared, repo, "repos").stdout
    assert line.startswith(f"({alone['folder']}, not registered): {repo}; 2 files")
    # It was just used, so it stays; and a search goes on with it.
    assert json.loads(run(shared, repo, "repos", "clean", "--json").stdout) == []
    assert run(shared, repo, "search", QUERY, "--repo", ".").returncode == 0
    (taken,) = list_indexes(shared, repo)
    assert (taken["repoName"], taken["path"]) == (repo.name, str(repo))
    assert not find_unregistered_index(place, repo).exists()


def test_an_index_that_another_process_writes_is_neither_cleaned_nor_removed(
    shared: SharedKernel, repo: Path
) -> None:
    with KernelProcess(shared.user_data, environ=ENVIRON | {"CODEKERNEL_STANDALONE": "1"}) as alone:
        alone.open(repo, 3)
        wait_until(lambda: list_indexes(shared, repo)[0]["openIn"])
        (index, *_) = list_indexes(shared, repo)
        assert index["openIn"] == ["a program without the shared kernel"]
        age(shared, index, 1000)
        assert json.loads(run(shared, repo, "repos", "clean", "--json").stdout) == []
        assert "without the shared kernel" in run(shared, repo, "repos", "remove", "demo").stderr
    assert list_indexes(shared, repo)[0]["openIn"] == []


def test_cleaning_deletes_vectors_that_no_index_uses(
    shared: SharedKernel, repo: Path, other: Path
) -> None:
    chat_settings(shared.user_data, "http://127.0.0.1:9/v1", vectors=True)
    (other / "more.py").write_text("def only_in_the_other(): pass\n", encoding="utf-8")
    for folder in (repo, other):
        assert run(shared, folder, "search", QUERY, "--repo", ".", "--wait").returncode == 0
    assert "vectors that they share: " in run(shared, repo, "repos").stdout
    assert run(shared, repo, "repos", "remove", "other").returncode == 0
    shown = run(shared, repo, "repos", "clean").stdout
    assert "would delete vectors that no index uses (0.0 MB)" in shown
    assert "vectors" not in run(shared, repo, "repos", "clean").stdout  # they are gone
