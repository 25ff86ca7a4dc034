"""What HTTP and the WebSocket have in common: who asks, how often, and what is kept of it.

That is lines of JSON in ``userData/team/audit.log``, rotated, secrets masked, and counts in the
text format of Prometheus, with no name of a person or path in them.
"""

import json
import logging
import os
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from codekernel.adapters.team.callers import Caller, CallerRateLimit, CallerTable
from codekernel.adapters.team.queries import TeamQueries, TeamRepositories
from codekernel.errors import (
    InvalidPath,
    InvalidSettings,
    InvalidType,
    KernelError,
    NetworkError,
    RepoNotFound,
    SessionExists,
    SessionNotFound,
    StorageError,
    WrongParam,
)
from codekernel.masking.masker import mask_secrets

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


MAX_FILE_BYTES, MAX_FILES = 20 * 1024 * 1024, 20

# Of a query: what comes after says nothing more about who looks for what.
MAX_TEXT_CHARS = 500


class _PrivateFileHandler(RotatingFileHandler):
    """A file that only its owner can read."""

    def _open(self) -> Any:
        return os.fdopen(
            os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            "a",
            encoding="utf-8",
        )


class AuditLog:
    """Appends one line for each request; used by any thread."""

    def __init__(self, path: Path, max_bytes: int = MAX_FILE_BYTES) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._handler = _PrivateFileHandler(path, maxBytes=max_bytes, backupCount=MAX_FILES)
        self._handler.setFormatter(logging.Formatter("%(message)s"))

    def write(self, **facts: object) -> None:
        """Append the facts of one request."""
        shown = {
            name: mask_secrets(value[:MAX_TEXT_CHARS]).text if isinstance(value, str) else value
            for name, value in facts.items()
        }
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = json.dumps({"at": at, **shown})
        self._handler.handle(logging.makeLogRecord({"msg": line}))

    def close(self) -> None:
        """Close the file."""
        self._handler.close()


MAX_BODY_BYTES = 256 * 1024


class NotAdmitted(KernelError):
    """Nobody has this token."""


class AskedTooOften(KernelError):
    """A person must wait."""

    def __init__(self, seconds: float) -> None:
        self.seconds = int(seconds) + 1
        super().__init__(f"too many requests; the next one in {self.seconds} s")


_STATUS_BY_ERROR: tuple[tuple[type[KernelError], HTTPStatus], ...] = (
    (NotAdmitted, HTTPStatus.UNAUTHORIZED),
    (AskedTooOften, HTTPStatus.TOO_MANY_REQUESTS),
    (WrongParam, HTTPStatus.BAD_REQUEST),
    (InvalidType, HTTPStatus.BAD_REQUEST),
    (SessionExists, HTTPStatus.BAD_REQUEST),
    (SessionNotFound, HTTPStatus.NOT_FOUND),
    (InvalidPath, HTTPStatus.NOT_FOUND),
    (RepoNotFound, HTTPStatus.NOT_FOUND),
    (InvalidSettings, HTTPStatus.SERVICE_UNAVAILABLE),
    (StorageError, HTTPStatus.SERVICE_UNAVAILABLE),
    (NetworkError, HTTPStatus.SERVICE_UNAVAILABLE),
)

Facts = dict[str, object]


@dataclass(frozen=True, slots=True)
class TeamServerParts:
    """What all requests share."""

    callers: CallerTable
    repositories: TeamRepositories
    limit: CallerRateLimit
    metrics: TeamMetrics
    audit: AuditLog


def find_status(error: KernelError) -> HTTPStatus:
    """Return the status of HTTP for an error."""
    found = (status for kind, status in _STATUS_BY_ERROR if isinstance(error, kind))
    return next(found, HTTPStatus.INTERNAL_SERVER_ERROR)


def explain(error: KernelError) -> str:
    """Return why a request failed, without secrets that it repeats."""
    return mask_secrets(str(error)).text


@contextmanager
def record_request(parts: TeamServerParts, action: str, address: str) -> Iterator[Facts]:
    """Count a request, and keep what it was; the block adds its facts, and its status."""
    started = time.monotonic()
    facts: Facts = {"status": HTTPStatus.INTERNAL_SERVER_ERROR}
    parts.metrics.begin()
    try:
        yield facts
    finally:
        seconds = time.monotonic() - started
        status = HTTPStatus(int(str(facts.pop("status"))))
        parts.metrics.end(action, status, seconds)
        parts.audit.write(
            action=action,
            status=status.value,
            milliseconds=round(seconds * 1000),
            address=address,
            **facts,
        )


def admit(parts: TeamServerParts, authorization: str, facts: Facts) -> Caller:
    """Return who asks. Raises NotAdmitted, AskedTooOften, and what finding the person raises."""
    caller = identify(parts, authorization)
    facts["user"] = caller.user
    wait = parts.limit.take(caller.user, caller.rights.requests_per_minute)
    if wait > 0:
        raise AskedTooOften(wait)
    return caller


def identify(parts: TeamServerParts, authorization: str) -> Caller:
    """Return whose token it is, whatever they have asked. Raises as ``admit``."""
    scheme, _, token = authorization.partition(" ")
    caller = parts.callers.find(token.strip()) if scheme.lower() == "bearer" else None
    if caller is None:
        raise NotAdmitted("send a valid token")
    return caller


def find_queries(parts: TeamServerParts, caller: Caller, repository: str) -> TeamQueries:
    """Return what may be asked. Raises RepoNotFound, also if there is nothing to read."""
    rules = caller.find_rules(repository)
    if rules is None:
        raise RepoNotFound("there is no such repository")
    return TeamQueries(parts.repositories.get(caller.rights.repositories[repository]), rules)


def describe_fields(fields: Mapping[str, Any]) -> Facts:
    """Return what of a request is kept in the audit log."""
    params = fields.get("params")
    nested = params.get("arguments") if isinstance(params, dict) else None
    shown: Facts = {}
    for each in (fields, params, nested):
        for name in ("query", "path", "pattern", "glob", "method", "name", "filePath"):
            if isinstance(each, dict) and isinstance(each.get(name), str):
                shown[name] = each[name]
    return shown
