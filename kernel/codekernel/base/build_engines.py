"""Where the parts of a base are built: in processes of this machine."""

import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import IO, Protocol

from codekernel.base.part_building import PartCounts, PartJob
from codekernel.domain.child_process import require_pipe, start_python_child

# So many jobs wait for a worker: none is idle, and few repositories are exported ahead.
JOBS_AHEAD_PER_WORKER = 2


@dataclass(frozen=True, slots=True)
class PartOutcome:
    """What became of a part; ``error`` is empty if it was built."""

    job: PartJob
    counts: PartCounts | None
    error: str = ""


class BuildEngine(Protocol):
    """Something that builds parts."""

    def run(self, jobs: Iterator[PartJob]) -> Iterator[PartOutcome]:
        """Yield what becomes of each job, in any order; jobs are taken as workers get free."""

    def close(self) -> None:
        """End the workers."""


class WorkerProcess:
    """Used by one thread at a time."""

    def __init__(self) -> None:
        """Start it. Raises OSError."""
        self.process = start_python_child("codekernel.base.part_worker")

    def build(self, job: PartJob) -> PartOutcome:
        """Let it build a part. Raises OSError or EOFError if it dies meanwhile."""
        pipe: IO[bytes] = require_pipe(self.process.stdin)
        pickle.dump(job, pipe)
        pipe.flush()
        try:
            reply = pickle.load(require_pipe(self.process.stdout))  # noqa: S301 - our own child
        except pickle.UnpicklingError as error:
            raise EOFError from error
        if isinstance(reply, PartCounts):
            return PartOutcome(job, reply)
        return PartOutcome(job, None, str(reply))

    def kill(self) -> None:
        """End it, whatever it is doing."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                require_pipe(pipe).close()
        self.process.wait()


class LocalEngine:
    """Processes of this machine; one that dies fails its part alone, and is replaced."""

    def __init__(self, workers: int) -> None:
        self._max_ahead = JOBS_AHEAD_PER_WORKER * workers
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="base-worker")
        self._idle: list[WorkerProcess] = []
        self._running: set[WorkerProcess] = set()
        self._lock = threading.Lock()

    def run(self, jobs: Iterator[PartJob]) -> Iterator[PartOutcome]:
        """Yield what becomes of each job."""

        def submit(job: PartJob) -> Future[PartOutcome]:
            return self._threads.submit(self._build, job)

        under_way = set(map(submit, islice(jobs, self._max_ahead)))
        while under_way:
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            yield from (each.result() for each in done)
            under_way |= set(map(submit, islice(jobs, len(done))))

    def close(self) -> None:
        """End the processes; parts under way are lost."""
        with self._lock:
            processes = [*self._idle, *self._running]
            self._idle.clear()
        for each in processes:
            each.kill()
        self._threads.shutdown()

    def _build(self, job: PartJob) -> PartOutcome:
        worker: WorkerProcess | None = None
        try:
            worker = self._take()
            outcome = worker.build(job)
        except (OSError, EOFError) as error:
            if worker:
                self._discard(worker)
            return PartOutcome(job, None, f"the process that built it died {error}".rstrip())
        with self._lock:
            self._running.discard(worker)
            self._idle.append(worker)
        return outcome

    def _take(self) -> WorkerProcess:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        worker = worker or WorkerProcess()
        with self._lock:
            self._running.add(worker)
        return worker

    def _discard(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._running.discard(worker)
        worker.kill()
