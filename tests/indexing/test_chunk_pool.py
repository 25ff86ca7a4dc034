"""Processes that chunk: the same chunks as here, whatever happens to the processes."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from codekernel.chunking.chunker import chunk_with_hashes
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import IndexedFile
from codekernel.domain.settings import Performance
from codekernel.indexing.chunk_pool import (
    CHARS_BEFORE_START,
    ChunkJob,
    ChunkPool,
    ChunkProcess,
    PoolLimits,
    chunk_files,
    count_chunk_processes,
    open_chunk_pool,
)
from codekernel.indexing.index_state import FileOutcome, RemovedFile
from codekernel.storage.lexical_documents import stem_text

SIZES = (80, 300)
MANY = 4
READY_TIMEOUT_SECONDS = 60
CODE = "".join(
    f"def number_{n}(a, b):\n    '''Adds \ud800 and 中文.'''\n    return a + b + {n}\n\n\n"
    for n in range(40)
)


def make_file(number: int, text: str = CODE) -> IndexedFile:
    digest = str(number).encode()
    return IndexedFile(
        f"file{number}.py", len(text), number, digest, "python", "utf-8", text, chunks_by_size={}
    )


@contextmanager
def open_ready_pool(count: int) -> Iterator[ChunkPool]:
    with open_chunk_pool(PoolLimits(count), SIZES) as pool:
        pool.start_processes()
        for process in pool.processes:
            assert process.ready.wait(READY_TIMEOUT_SECONDS)
        yield pool


def test_another_process_chunks_and_stems_a_text_as_this_one_does() -> None:
    with open_ready_pool(1) as pool:
        job = pool.submit(make_file(7))
        assert job in pool.processes[0].pending
        chunked = pool.wait_for_chunks(job, CancelToken())
        chunks = chunk_with_hashes(CODE, "python", SIZES)
        texts = {key: CODE[it.begin : it.end] for each in chunks.values() for it, key in each}
        stems = {key: stem_text(text) for key, text in texts.items()}
        assert chunked == replace(make_file(7), chunks_by_size=chunks, stems_by_key=stems)


def test_texts_whose_words_are_known_are_not_stemmed_again() -> None:
    chunks = chunk_with_hashes(CODE, "python", SIZES)
    known = frozenset(key for _, key in chunks[SIZES[0]])
    with open_ready_pool(1) as pool:
        job = ChunkJob(make_file(7), SIZES)
        pool.processes[0].submit(job, known)
        chunked = pool.wait_for_chunks(job, CancelToken())
    assert chunked.chunks_by_size == chunks
    assert chunked.stems_by_key.keys() == {key for _, key in chunks[SIZES[1]]} - known


@pytest.mark.slow
def test_files_come_back_in_their_order_whichever_process_chunks_them() -> None:
    texts = ["", "x = 1\n", CODE, CODE * 3, "y = 2\n", CODE * 9]
    files = [make_file(number, text) for number, text in enumerate(texts * 12)]
    with open_ready_pool(2):
        pass  # they are spare now, and ready for the list below
    chunked = list(chunk_files(files, SIZES, PoolLimits(2), CancelToken()))
    assert [file.path for file in chunked] == [file.path for file in files]
    for file, made in zip(files, chunked, strict=True):
        assert isinstance(made, IndexedFile)
        assert made.chunks_by_size == chunk_with_hashes(file.text, "python", SIZES)


def test_what_needs_no_chunking_keeps_its_place() -> None:
    given: list[FileOutcome] = [
        RemovedFile("a"),
        make_file(1),
        RemovedFile("b"),
        RemovedFile("c"),
        make_file(2),
    ]
    made = list(chunk_files(given, SIZES, PoolLimits(1), CancelToken()))
    assert [outcome.path for outcome in made] == ["a", "file1.py", "b", "c", "file2.py"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no signals that stop a process")
def test_a_process_that_is_killed_loses_no_file() -> None:
    with open_ready_pool(1) as pool:
        pid = pool.processes[0].process.pid
        os.kill(pid, signal.SIGSTOP)
        jobs = [pool.submit(make_file(1)), pool.submit(make_file(2, CODE * 2))]
        assert list(pool.processes[0].pending) == jobs
        os.kill(pid, signal.SIGKILL)
        for job, text in zip(jobs, (CODE, CODE * 2), strict=True):
            chunked = pool.wait_for_chunks(job, CancelToken())
            assert chunked.chunks_by_size == chunk_with_hashes(text, "python", SIZES)
        assert pool.processes == []


@pytest.mark.skipif(sys.platform == "win32", reason="no signals that stop a process")
def test_a_file_that_ends_every_process_is_chunked_by_lines(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dies = tmp_path / "dies"
    dies.write_text("#!/bin/sh\nexit 1\n")
    dies.chmod(0o755)
    with open_ready_pool(1) as pool:
        pid = pool.processes[0].process.pid
        os.kill(pid, signal.SIGSTOP)
        job = pool.submit(make_file(1))
        assert job in pool.processes[0].pending
        os.kill(pid, signal.SIGKILL)
        monkeypatch.setattr(sys, "executable", str(dies))
        chunked = pool.wait_for_chunks(job, CancelToken())
        assert chunked.chunks_by_size == chunk_with_hashes(CODE, "text", SIZES)


@pytest.mark.slow
def test_without_a_process_to_start_files_are_chunked_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with open_chunk_pool(PoolLimits(MANY), SIZES) as pool:  # none is left that could be borrowed
        pool.start_processes()
        monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
        chunked = list(
            chunk_files(
                [make_file(1, CODE * 120), make_file(2)], SIZES, PoolLimits(1), CancelToken()
            )
        )
        for process in pool.processes:
            process.kill()
        pool.processes.clear()
    assert isinstance(chunked[0], IndexedFile)
    assert chunked[0].chunks_by_size == chunk_with_hashes(CODE * 120, "python", SIZES)
    assert len(CODE * 120) > CHARS_BEFORE_START


@pytest.mark.slow
def test_a_cancelled_list_ends_early_and_leaves_no_process_at_work() -> None:
    cancel = CancelToken()
    with open_ready_pool(1) as pool:
        pid = pool.processes[0].process.pid
    outcomes = chunk_files(
        [make_file(number, CODE * 20) for number in range(50)], SIZES, PoolLimits(1), cancel
    )
    next(outcomes)
    cancel.cancel()
    assert len(list(outcomes)) < 49
    with open_chunk_pool(PoolLimits(1), SIZES) as pool:
        assert pid not in {process.process.pid for process in pool.processes}


def test_a_short_list_is_helped_only_by_processes_that_are_there() -> None:
    with open_ready_pool(1) as pool:
        pid = pool.processes[0].process.pid
    with open_chunk_pool(PoolLimits(2, can_start=False), SIZES) as pool:
        assert pid in {process.process.pid for process in pool.processes}
        before = len(pool.processes)
        pool.submit(make_file(1, CODE * 120))
        assert len(pool.processes) == before


def test_a_process_ends_with_whoever_started_it() -> None:
    process = ChunkProcess()
    assert process.ready.wait(READY_TIMEOUT_SECONDS)
    stdin = process.process.stdin  # the system closes it when we die
    assert stdin is not None
    stdin.close()
    assert process.process.wait(READY_TIMEOUT_SECONDS) == 0
    process.kill()


def test_no_module_of_the_folder_somebody_works_in_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "codekernel").mkdir()
    (tmp_path / "codekernel" / "__init__.py").write_text("raise SystemExit('imported here')")
    monkeypatch.chdir(tmp_path)
    process = ChunkProcess()
    assert process.ready.wait(READY_TIMEOUT_SECONDS)
    process.kill()


@pytest.mark.parametrize(("threads", "processes"), [(1, 0), (2, 1), (4, 2), (64, 3)])
def test_half_of_the_cores_chunk(threads: int, processes: int) -> None:
    assert count_chunk_processes(Performance(max_threads=threads)) == processes
