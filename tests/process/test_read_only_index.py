"""A window on a repository whose index another process writes."""

from pathlib import Path

import pytest
from codekernel.storage.process_lock import ProcessLock
from support.command_line import codekernel
from support.index_client import config, open_client, write_files, write_settings
from support.kernel_process import KernelProcess


@pytest.mark.slow
@pytest.mark.parametrize("made_before", [False, True])
def test_a_window_says_that_it_only_reads_and_takes_over_when_the_other_has_gone(
    user_data: Path, repo: Path, *, made_before: bool
) -> None:
    write_settings(user_data, config("none", 950, selected=False))
    (path,) = write_files(repo, 1)
    if made_before:
        with KernelProcess(user_data) as kernel:
            open_client(kernel, repo, session=1).wait_until_idle()
            assert kernel.stop() == 0
    other = ProcessLock(user_data / "index" / "1" / "writer.lock")
    assert other.try_acquire()
    with KernelProcess(user_data) as kernel:
        window = open_client(kernel, repo, session=1)
        status = window.status()
        assert status["state"] == "read-only"
        assert ("another codekernel keeps the index" in status["trouble"]) != made_before
        assert window.search("function_0_0") == [path] * made_before
        searched = codekernel(user_data, repo, "search", "--files", "function_0_0")
        assert "another codekernel keeps" in searched.stderr
        assert searched.stdout == f"{path}\n" * made_before
        other.release()
        window.wait_until_idle()
        assert window.search("function_0_0") == [path]
        assert "sessionCrashed" not in {line["message"]["type"] for line in kernel.lines}
        assert kernel.stop() == 0
