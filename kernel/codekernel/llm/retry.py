"""Send a request with retries: backoff, Retry-After, retryable failures, timeouts of a model."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import NetworkError
from codekernel.llm.http_client import DEFAULT_TIMEOUTS
from codekernel.llm.network_errors import (
    explain_network_error,
    explain_stopped,
    get_route,
    is_dropped_connection,
)


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the monotonic clock."""

    ends_at: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """Set a deadline ``seconds`` from now."""
        return cls(time.monotonic() + seconds)

    def compute_seconds_left(self) -> float:
        """Return how long until it passes; never negative."""
        return max(0.0, self.ends_at - time.monotonic())


_SECONDS_PATTERN = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)


def parse_retry_after(value: str, now: datetime) -> float | None:
    """Return the seconds from ``now`` of a number or an HTTP date; None if it is neither."""
    value = value.strip()
    if _SECONDS_PATTERN.fullmatch(value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


RETRYABLE_STATUSES = frozenset({429, 500, 502, 503, 504})

# The waits the front end's earlier kernel made.
RETRY_BACKOFF_SECONDS = (0.5, 1.0, 2.0)

# The front end gives up on a request after 60 s; a sentence that comes later is never read.
REQUEST_TIMEOUT_SECONDS = 45.0

# An attempt may begin just before the deadline; it then has this long for each of its phases.
MIN_TIMEOUT_SECONDS = 1.0


def send_with_retry(
    client: httpx.Client,
    request: httpx.Request,
    *,
    cancel: CancelToken,
    deadline: Deadline,
    backoff_seconds: Sequence[float] = RETRY_BACKOFF_SECONDS,
) -> httpx.Response:
    """Return the response, whatever its status and still open: the caller reads and closes it.

    Overload and dropped connections are tried again, once per wait. Refused connections, unknown
    names, bad certificates and timeouts are not: they would only fail again, and slowly.
    """
    route = get_route(request)
    limits = dict(request.extensions["timeout"])
    for wait in (*backoff_seconds, None):
        if cancel.is_cancelled:
            raise NetworkError(explain_stopped(route))
        request.extensions["timeout"] = _limit_timeouts(limits, deadline)
        outcome = _send_once(client, request)
        backoff = None if wait is None else _compute_backoff(outcome, wait)
        if backoff is None or backoff >= deadline.compute_seconds_left():
            break
        if isinstance(outcome, httpx.Response):
            outcome.close()
        if cancel.wait(backoff):
            raise NetworkError(explain_stopped(route))
    if isinstance(outcome, httpx.Response):
        return outcome
    # The cause is left out on purpose: httpx's texts may quote headers, and causes are logged.
    raise NetworkError(explain_network_error(outcome, route)) from None


def _send_once(client: httpx.Client, request: httpx.Request) -> httpx.Response | Exception:
    try:
        return client.send(request, stream=True)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        return error


def _compute_backoff(outcome: httpx.Response | Exception, wait: float) -> float | None:
    """Return how long to wait before a retry; None if it would not help."""
    if isinstance(outcome, Exception):
        return wait if is_dropped_connection(outcome) else None
    if outcome.status_code not in RETRYABLE_STATUSES:
        return None
    asked = parse_retry_after(outcome.headers.get("retry-after", ""), datetime.now(UTC))
    return max(wait, asked or 0.0)


def _limit_timeouts(limits: dict[str, float | None], deadline: Deadline) -> dict[str, float | None]:
    left = max(deadline.compute_seconds_left(), MIN_TIMEOUT_SECONDS)
    return {phase: left if limit is None else min(limit, left) for phase, limit in limits.items()}


# Sockets wait this much longer than the caller, whose timeout has the better explanation.
SOCKET_TIMEOUT_MARGIN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ChatTimeouts:
    """How long to wait for a reply and its pieces, and before each retry."""

    # A model on this machine may have to be loaded first, and then reads the question slowly.
    first_token_timeout_seconds: float = 300.0
    idle_timeout_seconds: float = 90.0
    retry_backoff_seconds: Sequence[float] = RETRY_BACKOFF_SECONDS


def make_socket_timeouts(timeouts: ChatTimeouts) -> httpx.Timeout:
    """Return timeouts of the phases of a request that are longer than those of the caller."""
    longest = max(timeouts.first_token_timeout_seconds, timeouts.idle_timeout_seconds)
    return httpx.Timeout(
        connect=DEFAULT_TIMEOUTS.connect,
        read=longest + SOCKET_TIMEOUT_MARGIN_SECONDS,
        write=DEFAULT_TIMEOUTS.write,
        pool=DEFAULT_TIMEOUTS.pool,
    )
