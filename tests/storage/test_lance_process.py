"""The process in which LanceDB runs: what its end, at any moment, may and may not do."""

import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import psutil
import pytest
from codekernel.errors import StorageError
from codekernel.storage.vectors.lance_process import LanceProcess, call_lance
from codekernel.storage.vectors.lance_worker import MAX_OPEN_TABLES
from codekernel.storage.vectors.vector_examination import examine_vectors
from codekernel.storage.vectors.vector_table import VectorTable
from support.effort import choose_tries

pytestmark = pytest.mark.slow  # each starts a process that imports LanceDB

DIMENSIONS = 16
ROWS_OF_AN_ADD = 40


def vectors_of(keys: np.ndarray) -> np.ndarray:
    return np.array([np.random.default_rng(int(key)).normal(size=DIMENSIONS) for key in keys])


def find_child() -> int:
    process: LanceProcess = call_lance.__self__  # type: ignore[attr-defined]
    return process.pid or 0


def check_rows(folder: Path, count: int) -> None:
    """Every row is on disk, once, and as it was written."""
    table = VectorTable.open(folder, DIMENSIONS)
    table.compact()
    stored = np.concatenate([keys for keys, _ in table.iterate_stored_rows()])
    assert sorted(stored.tolist()) == list(range(count))
    table.close()
    assert examine_vectors(folder) == ""


def test_a_kernel_that_writes_vectors_imports_no_lancedb(tmp_path: Path) -> None:
    code = (
        "import sys, numpy as np\n"
        "from pathlib import Path\n"
        "from codekernel.storage.vectors.vector_table import VectorTable\n"
        "table = VectorTable.open(Path(sys.argv[1]), 4)\n"
        "table.add(np.arange(9), np.eye(9, 4))\n"
        "table.delete_except(np.arange(5))\n"
        "table.compact()\n"
        "table.close()\n"
        "again = VectorTable.open(Path(sys.argv[1]), 4)\n"
        "print(len(again), {'lancedb', 'pyarrow'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "v")], stdout=subprocess.PIPE, check=True
    )
    assert done.stdout == b"5 set()\n"


def test_steps_go_on_in_a_new_process_when_one_has_ended(tmp_path: Path) -> None:
    table = VectorTable.open(tmp_path / "v", DIMENSIONS)
    for part in range(3):
        os.kill(find_child(), signal.SIGKILL)
        keys = np.arange(part * ROWS_OF_AN_ADD, (part + 1) * ROWS_OF_AN_ADD)
        table.add(keys, vectors_of(keys))
    table.close()
    check_rows(tmp_path / "v", 3 * ROWS_OF_AN_ADD)


def test_more_tables_than_stay_open_are_written_one_after_the_other(tmp_path: Path) -> None:
    count, keys = MAX_OPEN_TABLES + 2, np.arange(ROWS_OF_AN_ADD)
    tables = [VectorTable.open(tmp_path / str(place), DIMENSIONS) for place in range(count)]
    for table in tables:
        table.add(keys, vectors_of(keys))
        table.close()
    for place in range(count):
        check_rows(tmp_path / str(place), len(keys))


def test_reading_goes_on_where_a_process_ended(tmp_path: Path) -> None:
    table = VectorTable.open(tmp_path / "v", DIMENSIONS)
    for part in range(3):  # a batch for each file
        keys = np.arange(part * ROWS_OF_AN_ADD, (part + 1) * ROWS_OF_AN_ADD)
        table.add(keys, vectors_of(keys))
    read: list[int] = []
    for keys, _ in table.iterate_stored_rows():
        read += keys.tolist()
        os.kill(find_child(), signal.SIGKILL)
    assert sorted(read) == list(range(3 * ROWS_OF_AN_ADD))
    table.close()


def test_kills_at_any_moment_lose_no_row_and_leave_none_twice(tmp_path: Path) -> None:
    chance = random.Random(7)  # noqa: S311 - repeatable, not secret
    folder, adds = tmp_path / "v", choose_tries(8, 60)
    table = VectorTable.open(folder, DIMENSIONS)
    is_done = threading.Event()

    def kill_now_and_then() -> None:
        while not is_done.wait(0.3 + chance.random()):
            if pid := find_child():
                os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_now_and_then)
    killer.start()
    added = 0
    try:
        for part in range(adds):
            keys = np.arange(part * ROWS_OF_AN_ADD, (part + 1) * ROWS_OF_AN_ADD)
            while len(table.find_missing(keys)):
                try:
                    table.add(keys, vectors_of(keys))
                except StorageError:  # killed three times in a row: the embedder tries again
                    continue
            added += len(keys)
    finally:
        is_done.set()
        killer.join()
    table.close()
    check_rows(folder, added)


def test_a_process_whose_parent_is_killed_ends(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from codekernel.storage.vectors.lance_process import call_lance\n"
        "call_lance(Path(sys.argv[1]), 4, 'open')\n"
        "print(call_lance.__self__.pid, flush=True)\n"
        "sys.stdin.read()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "v")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.communicate()
    child.wait(timeout=60)
    assert not child.is_running()
