"""Bearer tokens of the servers: make them, and compare them in constant time."""

import hmac
import secrets
from collections.abc import Sequence

_TOKEN_BYTES = 32

BEARER_PREFIX = "Bearer "


def make_token() -> str:
    """Return a new random token."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def is_same_token(given: str, expected: str) -> bool:
    """Compare two tokens in a time that does not depend on where they differ."""
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode())


def has_bearer_token(headers: Sequence[str], token: str) -> bool:
    """Return whether there is one Authorization header, and it has the token."""
    return len(headers) == 1 and is_same_token(headers[0], f"{BEARER_PREFIX}{token}")
