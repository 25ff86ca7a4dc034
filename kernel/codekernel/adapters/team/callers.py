"""A bearer token -> a person and what they may read; how often each may ask.

Tokens are our own, or JWTs of an identity provider, signed by one of the keys that it publishes.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt

from codekernel.adapters.team.rights import OidcProvider, PathRules, RightsFile, TeamRights
from codekernel.adapters.team.tokens import TokenFile
from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import NetworkError

# Asymmetric ones alone: with HS256 a public key would be a password.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")

# Keys are fetched again after so long, and for an unknown key at most so often.
KEYS_SECONDS, UNKNOWN_KEY_SECONDS = 600.0, 30.0

LEEWAY_SECONDS = 30

_TIMEOUT_SECONDS = 5.0


class OidcVerifier:
    """Checks tokens of one provider; used by any thread."""

    def __init__(self, provider: OidcProvider, clock: Callable[[], float] = time.monotonic) -> None:
        self.provider = provider
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at: float | None = None

    def verify(self, token: str) -> tuple[str, tuple[str, ...]] | None:
        """Return the user and the groups of a token; None if it proves nothing.

        Raises NetworkError if the provider's keys cannot be had.
        """
        try:
            key = self._find_key(str(jwt.get_unverified_header(token).get("kid", "")))
            if key is None:
                return None
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[*ALGORITHMS],
                issuer=self.provider.issuer,
                audience=self.provider.audience,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError:
            return None
        user, groups = claims.get(self.provider.user_claim), claims.get(self.provider.groups_claim)
        if not isinstance(user, str) or not user:
            return None
        named = groups if isinstance(groups, list) else []
        return user, tuple(group for group in named if isinstance(group, str))

    def _find_key(self, key_id: str) -> jwt.PyJWK | None:
        with self._lock:
            age = None if self._fetched_at is None else self._clock() - self._fetched_at
            is_unknown = key_id not in self._keys
            if age is None or age > KEYS_SECONDS or (is_unknown and age > UNKNOWN_KEY_SECONDS):
                self._keys = self._fetch_keys()
                self._fetched_at = self._clock()
            return self._keys.get(key_id)

    def _fetch_keys(self) -> dict[str, jwt.PyJWK]:
        import httpx  # noqa: PLC0415 - where there is a provider

        from codekernel.llm.http_client import make_http_client  # noqa: PLC0415

        place = self.provider.jwks
        try:
            if "://" in place:
                with make_http_client(httpx.Timeout(_TIMEOUT_SECONDS)) as client:
                    content = client.get(place).raise_for_status().content
            else:
                content = Path(place).read_bytes()
            found = jwt.PyJWKSet.from_dict(parse_json(content))
        except (httpx.HTTPError, OSError, ValueError, TypeError, AttributeError, jwt.PyJWTError):
            raise NetworkError(f"the keys of {self.provider.issuer} cannot be had") from None
        return {str(key.key_id or ""): key for key in found.keys}


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
