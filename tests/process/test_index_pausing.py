"""pauseIndexing and getSkippedFiles over a real kernel process."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.index_client import IndexClient, config, open_client, write_files, write_settings
from support.kernel_process import KernelProcess, code_of

pytestmark = pytest.mark.slow

MANY_FILES = 600


@pytest.fixture
def kernel(user_data: Path) -> Iterator[KernelProcess]:
    """A kernel whose settings select the static model alone."""
    write_settings(user_data, config("static", 400))
    with KernelProcess(user_data) as running:
        running.event("ready")
        yield running


def paused(window: IndexClient, repo: Path) -> None:
    """Pause with something left to do, however fast the machine is."""
    window.pause(paused=True)
    (repo / "new.py").write_text("def brand_new(): ...\n", encoding="utf-8")
    window.wait_until(lambda: window.status()["state"] == "paused", "it stands still")


def test_windows_share_a_pause_and_search_in_it_and_either_ends_it(
    kernel: KernelProcess, repo: Path
) -> None:
    write_files(repo, MANY_FILES, functions=10)
    first = open_client(kernel, repo, session=1)
    kernel.event("embeddingStatus")
    second = open_client(kernel, repo, session=2)
    first.wait_until(lambda: first.status()["files"], "the first files")
    paused(first, repo)
    before = second.status()
    assert (before["state"], before["paused"]) == ("paused", True)
    assert before["files"] < MANY_FILES
    assert second.search("function value")
    told = len(first.list_events())
    assert code_of(kernel.request("closeRepo", sessionId=1)) == "SUCCESS"
    assert second.status() == before, "a pause is not that of one window"
    assert len(first.list_events()) == told
    second.pause(paused=False)
    after = second.wait_until_idle()
    assert (after["files"], after["paused"]) == (MANY_FILES + 1, False)
    assert second.search("brand_new")[0] == "new.py"


def test_a_pause_ends_with_the_last_window(kernel: KernelProcess, repo: Path) -> None:
    paths = write_files(repo, MANY_FILES)
    window = open_client(kernel, repo, session=1)
    kernel.event("embeddingStatus")
    paused(window, repo)
    assert code_of(kernel.request("closeRepo", sessionId=1)) == "SUCCESS"
    again = IndexClient(kernel, 2)
    assert code_of(kernel.request("openRepo", repoName=repo.name, sessionId=2)) == "SUCCESS"
    status = again.wait_until_idle()
    assert (status["files"], status["paused"]) == (len(paths) + 1, False)


def test_a_repository_is_deleted_and_a_kernel_stopped_in_a_pause(
    kernel: KernelProcess, repo: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for folder, session in ((repo, 1), (other, 2)):
        write_files(folder, MANY_FILES)
        paused(open_client(kernel, folder, session), folder)
    assert code_of(kernel.request("deleteRepo", repoName=repo.name)) == "SUCCESS"
    assert kernel.stop() == 0


def test_skipped_files_are_listed_with_their_reasons(kernel: KernelProcess, repo: Path) -> None:
    write_files(repo, 3)
    (repo / ".gitignore").write_text("*.log\nbuild/\n", encoding="utf-8")
    (repo / "build").mkdir()
    (repo / "build" / "made.py").write_text("x = 1\n", encoding="utf-8")
    (repo / "a.log").write_text("x\n", encoding="utf-8")
    (repo / "image.bits").write_bytes(b"\0\1\2\3" * 100)
    window = open_client(kernel, repo, session=1)
    status = window.wait_until_idle()
    found = window.list_skipped()
    reasons = {each["filePath"]: each["reason"] for each in found["skipped"]}
    assert reasons == {"a.log": "ignored", "build/": "ignored", "image.bits": "binary"}
    assert found["skipped"][0]["detail"] == ".gitignore line 1: *.log"
    assert found["total"] == sum(status["refused"].values()) == 3
    assert window.list_skipped(limit=2) == {"skipped": found["skipped"][:2], "total": 3}
    for limit in (0, 10_001, "all"):
        assert code_of(window.request("getSkippedFiles", limit=limit)) == "WRONG_PARAM"
