"""Tokens of an identity provider: JWTs, signed by one of the keys that it publishes."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import jwt

from codekernel.adapters.team.rights import OidcProvider
from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import NetworkError
from codekernel.llm.http_client import make_http_client

# Asymmetric ones alone: with HS256 a public key would be a password.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")

# Keys are fetched again after so long, and for an unknown key at most so often.
KEYS_SECONDS, UNKNOWN_KEY_SECONDS = 600.0, 30.0

LEEWAY_SECONDS = 30

_TIMEOUTS = httpx.Timeout(5.0)


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
        place = self.provider.jwks
        try:
            if "://" in place:
                with make_http_client(_TIMEOUTS) as client:
                    content = client.get(place).raise_for_status().content
            else:
                content = Path(place).read_bytes()
            found = jwt.PyJWKSet.from_dict(parse_json(content))
        except (httpx.HTTPError, OSError, ValueError, TypeError, AttributeError, jwt.PyJWTError):
            raise NetworkError(f"the keys of {self.provider.issuer} cannot be had") from None
        return {str(key.key_id or ""): key for key in found.keys}
