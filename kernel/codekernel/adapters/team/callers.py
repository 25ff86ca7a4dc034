"""A bearer token -> a person and what they may read; how often each may ask."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from codekernel.adapters.team.oidc import OidcVerifier
from codekernel.adapters.team.rights import PathRules, RightsFile, TeamRights
from codekernel.adapters.team.tokens import TokenFile

# People who asked lately; beyond them the one who asked longest ago is forgotten.
MAX_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Caller:
    """A person, with the rights as they are at this moment."""

    user: str
    groups: tuple[str, ...]
    rights: TeamRights

    def list_repositories(self) -> list[str]:
        """Return the repositories of which something may be read."""
        return self.rights.list_repositories(self.user, self.groups)

    def find_rules(self, repository: str) -> PathRules | None:
        """Return what may be read of a repository; None if nothing, or if there is none."""
        return self.rights.find_rules(self.user, self.groups, repository)


class CallerTable:
    """Finds the caller of each request; used by any thread."""

    def __init__(self, rights: RightsFile, tokens: TokenFile) -> None:
        self._rights = rights
        self._tokens = tokens
        self._lock = threading.Lock()
        self._verifier: OidcVerifier | None = None

    def find(self, token: str) -> Caller | None:
        """Return who sends a token; None if nobody does.

        Raises InvalidSettings, StorageError, NetworkError: then nobody is let in.
        """
        rights = self._rights.read()
        if user := self._tokens.find_user(token):
            return Caller(user, (), rights)
        if rights.oidc is None or token.count(".") != 2:  # noqa: PLR2004 - parts of a JWT
            return None
        with self._lock:
            if self._verifier is None or self._verifier.provider != rights.oidc:
                self._verifier = OidcVerifier(rights.oidc)
            verifier = self._verifier
        found = verifier.verify(token)
        return Caller(found[0], found[1], rights) if found else None


class CallerRateLimit:
    """A bucket for each person: a minute's requests at once, then as they refill."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}  # what is left, when

    def take(self, user: str, per_minute: int) -> float:
        """Return how long to wait; 0 if the request may go on."""
        with self._lock:
            now = self._clock()
            left, at = self._buckets.pop(user, (float(per_minute), now))
            left = min(float(per_minute), left + (now - at) * per_minute / 60)
            is_free = left >= 1
            self._buckets[user] = (left - is_free, now)
            if len(self._buckets) > MAX_REMEMBERED:
                del self._buckets[next(iter(self._buckets))]
        return 0.0 if is_free else (1 - left) * 60 / per_minute
