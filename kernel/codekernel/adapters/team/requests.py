"""What HTTP and the WebSocket have in common: who asks, how often, and what is kept of it."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from codekernel.adapters.team.audit import AuditLog
from codekernel.adapters.team.callers import Caller, CallerRateLimit, CallerTable
from codekernel.adapters.team.metrics import TeamMetrics
from codekernel.adapters.team.queries import TeamQueries
from codekernel.adapters.team.repositories import TeamRepositories
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
