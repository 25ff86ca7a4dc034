import random
import subprocess
import sys
from pathlib import Path

import pytest
from codekernel.errors import StorageError
from codekernel.storage.lexical.lexical_index import LexicalIndex

ROOT = Path(__file__).parents[2]
KILLS = 24
PATHS = 7

# Commit number n puts document n under path n % PATHS, and nothing else.
WRITER = """
import os, signal, sys, threading
from pathlib import Path
from codekernel.storage.lexical.lexical_index import LexicalIndex
from codekernel.storage.lexical.schema import LexicalDocument
folder, paths, first, seconds = Path(sys.argv[1]), *map(float, sys.argv[2:])
index = LexicalIndex.open(folder, writable=True)
if seconds:
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
print("open", flush=True)
number = int(first)
while seconds or sys.stdin.readline():
    index.replace(str(number % int(paths)), [LexicalDocument(number, "needle", "", "")])
    if not seconds:
        print("replaced", flush=True)
        sys.stdin.readline()
    index.commit()
    print(number, flush=True)
    number += 1
"""


def writer(folder: Path, *, first: int, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), str(PATHS), str(first), str(seconds)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def tell(process: subprocess.Popen[str]) -> str:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()
    return heard(process)


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def found(index: LexicalIndex) -> set[int]:
    return {chunk_id for chunk_id, _ in index.search(["needle"], 1000)}


def after(commits: int) -> set[int]:
    return set(range(max(0, commits - PATHS), commits))


@pytest.mark.slow
def test_another_process_reads_while_one_writes_and_a_second_writer_is_refused(
    tmp_path: Path,
) -> None:
    with writer(tmp_path, first=0, seconds=0) as process:
        try:
            assert heard(process) == "open"
            assert [tell(process), tell(process)] == ["replaced", "0"]
            reader = LexicalIndex.open(tmp_path, writable=False)
            assert found(reader) == {0}
            assert tell(process) == "replaced"
            assert found(reader) == {0}
            assert tell(process) == "1"
            assert found(reader) == {0, 1}
            with pytest.raises(StorageError, match="another program"):
                LexicalIndex.open(tmp_path, writable=True)
            assert tell(process) == "replaced"
        finally:
            process.kill()
    mine = LexicalIndex.open(tmp_path, writable=True)
    assert found(mine) == {0, 1}


@pytest.mark.slow
def test_a_kill_at_any_moment_loses_only_what_was_not_committed(tmp_path: Path) -> None:
    chance = random.Random(2026)  # noqa: S311  # moments to be killed at
    commits = 0
    for _ in range(KILLS):
        with writer(tmp_path, first=commits, seconds=chance.uniform(0.01, 0.6)) as process:
            output, complaints = process.communicate()
        # A writer that cannot commit after its predecessor's death says so before its own.
        assert complaints == ""
        said = output.split()
        confirmed = int(said[-1]) + 1 if len(said) > 1 else commits
        index = LexicalIndex.open(tmp_path, writable=True)
        assert found(index) in (after(confirmed), after(confirmed + 1))
        assert index.document_count == len(found(index))
        commits = max(found(index), default=-1) + 1
        index.close()
    assert commits > 0
    index = LexicalIndex.open(tmp_path, writable=True)
    index.compact()
    files_of_a_segment = 7
    most_segments = 10
    assert len(list(tmp_path.iterdir())) < files_of_a_segment * most_segments
