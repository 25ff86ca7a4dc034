"""Sends one request, and again if the trouble may pass, until an answer, a deadline or a stop."""

from collections.abc import Sequence
from datetime import UTC, datetime

import httpx

from kernel.domain.cancel import CancelToken
from kernel.errors import NetworkError
from kernel.llm.deadline import Deadline
from kernel.llm.explain import hung_up, stopped, unreachable
from kernel.llm.retry_after import retry_after_seconds
from kernel.llm.route import route_of

PASSING_STATUSES = frozenset({429, 500, 502, 503, 504})

# The waits the front end's earlier kernel made.
RETRY_WAITS = (0.5, 1.0, 2.0)

# The front end gives up on a request after 60 s; a sentence that comes later is never read.
DEADLINE_SECONDS = 45.0

# An attempt may begin just before the deadline; it then has this long for each of its phases.
SHORTEST_TIMEOUT_SECONDS = 1.0


def send(
    client: httpx.Client,
    request: httpx.Request,
    *,
    cancel: CancelToken,
    deadline: Deadline,
    waits: Sequence[float] = RETRY_WAITS,
) -> httpx.Response:
    """Return the response, whatever its status and still open: the caller reads and closes it.

    Overload and dropped connections are tried again, once per wait. Refused connections, unknown
    names, bad certificates and timeouts are not: they would only fail again, and slowly.
    """
    route = route_of(request)
    limits = dict(request.extensions["timeout"])
    for wait in (*waits, None):
        if cancel.cancelled:
            raise NetworkError(stopped(route))
        request.extensions["timeout"] = _shortened(limits, deadline)
        outcome = _attempt(client, request)
        pause = None if wait is None else _pause(outcome, wait)
        if pause is None or pause >= deadline.seconds_left():
            break
        if isinstance(outcome, httpx.Response):
            outcome.close()
        if cancel.wait(pause):
            raise NetworkError(stopped(route))
    if isinstance(outcome, httpx.Response):
        return outcome
    # The cause is left out on purpose: httpx's texts may quote headers, and causes are logged.
    raise NetworkError(unreachable(outcome, route)) from None


def _attempt(client: httpx.Client, request: httpx.Request) -> httpx.Response | Exception:
    try:
        return client.send(request, stream=True)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        return error


def _pause(outcome: httpx.Response | Exception, wait: float) -> float | None:
    """How long to wait before trying again; None if that would not help."""
    if isinstance(outcome, Exception):
        return wait if hung_up(outcome) else None
    if outcome.status_code not in PASSING_STATUSES:
        return None
    asked = retry_after_seconds(outcome.headers.get("retry-after", ""), datetime.now(UTC))
    return max(wait, asked or 0.0)


def _shortened(limits: dict[str, float | None], deadline: Deadline) -> dict[str, float | None]:
    left = max(deadline.seconds_left(), SHORTEST_TIMEOUT_SECONDS)
    return {phase: left if limit is None else min(limit, left) for phase, limit in limits.items()}
