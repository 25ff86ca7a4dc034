"""Temporary files of a killed edit, and of a kernel killed while it wrote a file of its own."""

import json
import os
from pathlib import Path

from support.kernel_process import KernelProcess
from support.polling import wait_until

LOOK_SECONDS = 0.05


def test_a_kernel_that_starts_removes_the_temporary_files_of_killed_writers(
    user_data: Path, tmp_path: Path
) -> None:
    repo = tmp_path.resolve() / "demo"
    repo.mkdir()
    left = repo / ".codekernel-0123456789abcdef.tmp"
    left.write_text("half of an edit")
    (repo / ".codekernel-mine.tmp").write_text("mine")
    notes = user_data / "agent" / "unfinished" / "0011223344556677.jsonl"
    notes.parent.mkdir(parents=True)
    notes.write_text(json.dumps([str(repo), left.name]))
    half = user_data / ".savings.json.0123456789abcdef.tmp"
    half.write_text("{")
    os.utime(half, (0, 0))
    with KernelProcess(user_data):
        wait_until(lambda: not notes.exists() and not half.exists())
    assert [path.name for path in repo.iterdir()] == [".codekernel-mine.tmp"]
