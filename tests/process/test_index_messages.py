"""Messages about the index, and requests while it is being made."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.index_client import IndexClient, config, open_client, write_files, write_settings
from support.kernel_process import KernelProcess, Line, code_of

FILES = 150
MANY_FILES = 600
# The line itself is some 10 MB, and waits on the disk.
MAX_GROWTH_BYTES = 60e6


@pytest.fixture
def kernel(user_data: Path) -> Iterator[KernelProcess]:
    """A kernel whose settings select the static model alone."""
    write_settings(user_data, config("static", 1500))
    with KernelProcess(user_data) as running:
        running.event("ready")
        yield running


def see_one_way(told: list[Line]) -> None:
    """From 0.0 up to one ``done`` with 1.0, each time the file changed."""
    ways: list[list[Line]] = [[]]
    for line in told:
        ways[-1].append(line)
        if line["status"] == "done":
            ways.append([])
    assert ways.pop() == []
    for way in ways:
        values = [line["progress"] for line in way]
        assert values[0] == 0.0
        assert values[-1] == 1.0
        assert values == sorted(values)
        assert all(line["status"] == "embedding" for line in way[:-1])


@pytest.mark.slow
def test_a_window_is_told_of_every_file_from_zero_to_done_after_it_is_prepared(
    kernel: KernelProcess, repo: Path
) -> None:
    paths = write_files(repo, FILES)
    window = open_client(kernel, repo, session=1)
    window.wait_until_idle()
    prepared = kernel.lines[window.find_line("sessionPrepared")]
    assert prepared["message"]["repoName"] == repo.name
    assert window.find_line("sessionPrepared") < window.find_line("embeddingStatus")
    assert sorted(window.list_done()) == sorted(paths)
    (repo / paths[0]).write_text("def changed(): ...\n", encoding="utf-8")
    window.wait_until_done(paths[0], times=2)
    (repo / paths[1]).unlink()
    window.wait_until_done(paths[1], times=2)
    for path in paths:
        see_one_way(window.list_events(path))
    assert len(window.list_done()) == FILES + 2


@pytest.mark.slow
def test_unchanged_files_are_not_mentioned_after_a_restart(user_data: Path, repo: Path) -> None:
    write_settings(user_data, config("static", 1500))
    paths = write_files(repo, FILES)
    with KernelProcess(user_data) as kernel:
        open_client(kernel, repo, session=1).wait_until_idle()
        assert kernel.stop() == 0
    (repo / paths[3]).write_text("def changed(): ...\n", encoding="utf-8")
    with KernelProcess(user_data) as kernel:
        window = open_client(kernel, repo, session=1)
        window.wait_until_done(paths[3])
        window.wait_until_idle()
        assert {line["filePath"] for line in window.list_events()} == {paths[3]}
        assert kernel.stop() == 0


@pytest.mark.slow
def test_a_second_window_hears_of_what_is_under_way_and_shares_the_index(
    kernel: KernelProcess, repo: Path, user_data: Path
) -> None:
    paths = write_files(repo, MANY_FILES)
    first = open_client(kernel, repo, session=1)
    kernel.event("embeddingStatus")
    second = open_client(kernel, repo, session=2)
    here = second.find_line("sessionPrepared")
    first.wait_until_idle()
    later = set(first.list_done(since=here))
    assert later, "the first window was done before the second came"
    assert later <= set(second.list_done())
    assert len(second.list_done()) == len(set(second.list_done()))
    assert {line["filePath"] for line in second.list_events()} == set(second.list_done())
    (repo / "new.py").write_text("def brand_new(): ...\n", encoding="utf-8")
    for window in (first, second):
        window.wait_until_done("new.py")
        see_one_way(window.list_events("new.py"))
        assert window.search("brand_new")[0] == "new.py"
    assert first.status() == second.status()
    assert first.status()["files"] == len(paths) + 1
    assert [folder.name for folder in (user_data / "index").iterdir()] == ["1"]


@pytest.mark.slow
def test_search_finds_files_while_the_rest_is_still_being_indexed(
    kernel: KernelProcess, repo: Path
) -> None:
    write_files(repo, MANY_FILES, functions=10)
    window = open_client(kernel, repo, session=1)
    window.wait_until(lambda: window.status()["files"], "the first files")
    found = window.search("function value")
    assert len(window.list_done()) < MANY_FILES
    assert found
    window.wait_until_idle()
    assert window.search("function_17_3")[0] == "module_17.py"


@pytest.mark.slow
def test_close_repo_in_the_middle_frees_the_id_and_the_next_open_goes_on(
    kernel: KernelProcess, repo: Path
) -> None:
    paths = write_files(repo, MANY_FILES, functions=10)
    window = open_client(kernel, repo, session=1)
    kernel.event("embeddingStatus")
    assert code_of(kernel.request("closeRepo", sessionId=1)) == "SUCCESS"
    closed_at = len(kernel.lines)
    assert code_of(kernel.request("openRepo", repoName=repo.name, sessionId=1)) == "SUCCESS"
    window.wait_until(lambda: code_of(window.request("getIndexStatus")) == "SUCCESS", "open again")
    assert window.wait_until_idle()["files"] == len(paths)
    assert len(window.list_done(since=closed_at)) <= len(paths)
    assert window.search("function_17_3")[0] == "module_17.py"


@pytest.mark.slow
def test_stop_all_in_the_middle_ends_with_0_and_loses_nothing(user_data: Path, repo: Path) -> None:
    write_settings(user_data, config("static", 1500))
    paths = write_files(repo, MANY_FILES)
    with KernelProcess(user_data) as kernel:
        kernel.open(repo, session=1)
        kernel.event("embeddingStatus")
        assert kernel.stop() == 0
    with KernelProcess(user_data) as kernel:
        window = open_client(kernel, repo, session=1)
        assert window.wait_until_idle()["files"] == len(paths)
        assert kernel.stop() == 0


@pytest.mark.slow
def test_delete_repo_in_the_middle_takes_the_index_away(
    kernel: KernelProcess, repo: Path, user_data: Path
) -> None:
    write_files(repo, MANY_FILES)
    window = open_client(kernel, repo, session=1)
    kernel.event("embeddingStatus")
    assert code_of(kernel.request("deleteRepo", repoName=repo.name)) == "SUCCESS"
    window = IndexClient(kernel, 1)
    assert code_of(window.request("getIndexStatus")) == "SESSION_NOT_FOUND"
    assert not (user_data / "index" / "1").exists()
    assert kernel.stop() == 0
    with KernelProcess(user_data) as again:
        assert open_client(again, repo, session=1).wait_until_idle()["files"] == MANY_FILES
        assert [folder.name for folder in (user_data / "index").iterdir()] == ["2"]


@pytest.mark.slow
def test_a_second_kernel_on_the_same_user_data_says_so_and_searches(
    kernel: KernelProcess, repo: Path, user_data: Path
) -> None:
    write_files(repo, FILES)
    open_client(kernel, repo, session=1).wait_until_idle()
    with KernelProcess(user_data) as second:
        window = open_client(second, repo, session=1)
        assert window.status()["state"] == "read-only"
        assert "another codekernel" in second.stderr + second.log
        assert window.search("function_17_0")[0] == "module_17.py"
        (repo / "new.py").write_text("def brand_new(): ...\n", encoding="utf-8")
        IndexClient(kernel, 1).wait_until_done("new.py")
        # Until its words are on the disk they are searched in the kernel that writes the index.
        window.wait_until(lambda: window.search("brand_new") == ["new.py"], "the new file")
        assert second.stop() == 0
    assert IndexClient(kernel, 1).search("function_17_0")[0] == "module_17.py"


@pytest.mark.slow
def test_a_second_kernel_may_come_while_the_first_makes_its_first_index(
    kernel: KernelProcess, repo: Path, user_data: Path
) -> None:
    write_files(repo, MANY_FILES)
    kernel.open(repo, session=1)
    with KernelProcess(user_data) as second:
        window = open_client(second, repo, session=1)
        IndexClient(kernel, 1).wait_until_idle()
        assert window.search("function_17_0")[0] == "module_17.py"
        assert second.stop() == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are text")
def test_a_file_whose_name_is_no_text_is_told_listed_and_found(
    kernel: KernelProcess, repo: Path
) -> None:
    write_files(repo, 2)
    (repo / os.fsdecode(b"caf\xe9.py")).write_text("def heartbeat(): ...\n", encoding="utf-8")
    window = open_client(kernel, repo, session=1)
    assert window.wait_until_idle()["files"] == 3
    (odd,) = (path for path in window.list_done() if path.startswith("caf"))
    assert window.search("heartbeat")[0] == odd
    assert odd in {chunk["filePath"] for chunk in window.list_chunks()}
    assert all(line.isascii() for line in kernel.raw)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_list_of_many_chunks_is_one_line_and_holds_up_nobody(
    user_data: Path, repo: Path, tmp_path: Path
) -> None:
    write_settings(user_data, config("a", 80), config("b", 80), config("c", 200))
    write_files(repo, 40, functions=300)
    other = tmp_path / "other"
    other.mkdir()
    write_files(other, 3)
    with KernelProcess(user_data) as kernel:
        window, beside = open_client(kernel, repo, session=1), open_client(kernel, other, session=2)
        assert window.wait_until_idle()["chunks"] >= 15_000
        before = memory_bytes(kernel, "VmRSS")
        Path(f"/proc/{kernel.process.pid}/clear_refs").write_text("5", encoding="utf-8")
        since = len(kernel.lines)
        chunks = kernel.post("getChunksInfo", session=1)
        assert beside.search("function_1_0")
        assert code_of(kernel.request("getRepos")) == "SUCCESS"
        reply = kernel.reply_to(chunks, since)
        assert kernel.lines.index(reply) >= since + 2, "others had to wait"
        grown = memory_bytes(kernel, "VmHWM") - before
        found = reply["data"]["chunkInfo"]
        assert len(found) >= 20_000
        assert len({chunk["chunkId"] for chunk in found}) == len(found)
        by_name = {
            name: [chunk for chunk in found if chunk["embeddingName"] == name] for name in "abc"
        }
        assert len(by_name["a"]) == len(by_name["b"]) > len(by_name["c"]) > 0
        assert max(len(chunk["content"]) for chunk in by_name["a"]) <= 80
        assert max(chunk["chunkId"] for chunk in found) < 2**53
        assert grown < MAX_GROWTH_BYTES
        assert kernel.stop() == 0


def memory_bytes(kernel: KernelProcess, field: str) -> int:
    status = Path(f"/proc/{kernel.process.pid}/status").read_text(encoding="utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024
