"""Where the parts of a base are built: on a cluster of Ray (the extra ``codekernel[ray]``).

A part whose worker or node is lost is built again by another one. Files are read from the folder of
the driver, so that it has to be on a disk that every node sees.
"""

import os
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import ray

from codekernel.base.build_engines import JOBS_AHEAD_PER_WORKER, PartOutcome
from codekernel.base.part_building import PartCounts, PartJob, PartWorker
from codekernel.errors import KernelError

# Lost workers and nodes, of one part.
MAX_TASK_RETRIES = 5

# Ray reports how it is used unless this is set before it starts.
_NO_USAGE_REPORT = ("RAY_USAGE_STATS_ENABLED", "0")


class RayEngine:
    """Tasks of a cluster that runs already."""

    def __init__(self, address: str) -> None:
        """Connect to a cluster by its address, or to that of this machine: ``auto``."""
        os.environ.setdefault(*_NO_USAGE_REPORT)
        ray.init(address=address, log_to_driver=False, include_dashboard=False)
        self._build = ray.remote(num_cpus=1, max_retries=MAX_TASK_RETRIES)(build_part)
        self._max_ahead = JOBS_AHEAD_PER_WORKER * max(1, int(ray.cluster_resources()["CPU"]))

    def run(self, jobs: Iterator[PartJob]) -> Iterator[PartOutcome]:
        """Yield what becomes of each job."""
        under_way = {self._build.remote(job): job for job in islice(jobs, self._max_ahead)}
        while under_way:
            (done,), _ = ray.wait(list(under_way), num_returns=1)
            job = under_way.pop(done)
            yield self._take(job, done)
            under_way |= {self._build.remote(job): job for job in islice(jobs, 1)}

    def close(self) -> None:
        """Leave the cluster; it goes on."""
        ray.shutdown()

    def _take(self, job: PartJob, done: Any) -> PartOutcome:
        try:
            found = ray.get(done)
        except ray.exceptions.RayError as error:  # lost too often
            return PartOutcome(job, None, str(error).partition("\n")[0])
        return (
            PartOutcome(job, found)
            if isinstance(found, PartCounts)
            else PartOutcome(job, None, found)
        )


def build_part(job: PartJob) -> PartCounts | str:
    """Build a part on whatever node this runs; return why not, if it cannot be built."""
    try:
        return _load_worker().build(job)
    except (KernelError, OSError, ValueError) as error:
        return str(error) or type(error).__name__


@cache
def _load_worker() -> PartWorker:
    return PartWorker(dict(os.environ))
