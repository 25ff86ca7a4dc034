"""Counts of a team kernel in the text format of Prometheus; no name of a person or path in them."""

import threading
from bisect import bisect_left
from collections import Counter

BUCKETS_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class TeamMetrics:
    """Counts requests; used by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: Counter[tuple[str, int]] = Counter()
        self._seconds: dict[str, float] = {}
        self._running = 0

    def begin(self) -> None:
        """Count a request that has come."""
        with self._lock:
            self._running += 1

    def end(self, action: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            self._running -= 1
            self._requests[action, status] += 1
            self._buckets[action, bisect_left(BUCKETS_SECONDS, seconds)] += 1
            self._seconds[action] = self._seconds.get(action, 0.0) + seconds

    def render(self, chunks: dict[str, int]) -> str:
        """Return all counts; ``chunks`` are those of each open repository."""
        with self._lock:
            lines = ["# TYPE codekernel_requests_total counter"]
            lines += [
                f'codekernel_requests_total{{action="{action}",status="{status}"}} {count}'
                for (action, status), count in sorted(self._requests.items())
            ]
            lines.append("# TYPE codekernel_request_seconds histogram")
            for action in sorted(self._seconds):
                lines += self._render_histogram(action)
            lines += ["# TYPE codekernel_requests_running gauge"]
            lines += [f"codekernel_requests_running {self._running}"]
        lines.append("# TYPE codekernel_chunks gauge")
        lines += [
            f'codekernel_chunks{{repository="{_escape(name)}"}} {count}'
            for name, count in sorted(chunks.items())
        ]
        return "\n".join([*lines, ""])

    def _render_histogram(self, action: str) -> list[str]:
        total, lines = 0, []
        for place, bound in enumerate((*BUCKETS_SECONDS, "+Inf")):
            total += self._buckets[action, place]
            name = f'codekernel_request_seconds_bucket{{action="{action}",le="{bound}"}}'
            lines.append(f"{name} {total}")
        labels = f'{{action="{action}"}}'
        return [
            *lines,
            f"codekernel_request_seconds_sum{labels} {self._seconds[action]:.6f}",
            f"codekernel_request_seconds_count{labels} {total}",
        ]


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
