"""Removes secrets from text that others wrote, in every form a server is likely to echo them."""

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

HIDDEN = "[hidden]"

# Shorter pieces occur by chance in ordinary words or in other base64 text.
SHORTEST_BASE64_PIECE = 8

# Some servers quote the beginning of a key; of a key this long, even that stays secret.
LONG_SECRET = 16
TELLING_PREFIX = 8


def redact(text: str, secrets: Iterable[str]) -> str:
    """``text`` without any of ``secrets``, whether plain, URL-encoded, escaped or in base64."""
    patterns = {pattern for secret in secrets if secret for pattern in _patterns(secret)}
    if not patterns:
        return text
    # The longest first: an encoded form may contain a plain one.
    either = "|".join(sorted(patterns, key=len, reverse=True))
    return re.sub(either, HIDDEN, text, flags=re.IGNORECASE)


def secrets_of(url: str, api_key: str) -> tuple[str, ...]:
    """List what must not be repeated of a request: its key, and the values in its query string."""
    return (api_key, *(value for _, value in parse_qsl(urlsplit(url).query)))


def _patterns(secret: str) -> Iterator[str]:
    spellings = (
        secret,
        quote(secret),
        quote(secret, safe=""),
        quote_plus(secret),
        html.escape(secret),
        json.dumps(secret)[1:-1],
        secret.replace("/", r"\/"),
        *_base64_pieces(secret.encode(errors="replace")),
    )
    yield from map(re.escape, spellings)
    if len(secret) >= LONG_SECRET:
        yield re.escape(secret[:TELLING_PREFIX]) + r"[^\s\"'<>,;]*"


def _base64_pieces(secret: bytes) -> Iterator[str]:
    """Yield what base64 of any longer text, such as ``user:secret``, must contain."""
    for bytes_before in range(3):
        encoded = base64.b64encode(bytes(bytes_before) + secret).decode()
        first = (bytes_before * 8 + 5) // 6  # the characters before it depend on what precedes
        whole = encoded.rstrip("=")
        if (bytes_before + len(secret)) % 3:
            whole = whole[:-1]  # the last character depends on what follows
        piece = whole[first:]
        if len(piece) >= SHORTEST_BASE64_PIECE:
            yield piece
            yield piece.replace("+", "-").replace("/", "_")
