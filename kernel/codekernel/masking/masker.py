"""Mask the secrets of a text before it leaves the machine.

By the rules of this package, by known values in any encoding, and in log lines. The user's own
screen is not masked.
"""

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

from codekernel.masking.assignments import scan_assignments
from codekernel.masking.credentials import scan_kubernetes_secrets
from codekernel.masking.key_material import (
    MIN_MATERIAL_CHARACTERS,
    MIN_UNNAMED_KEY_CHARACTERS,
    UNNAMED_KEY_RULE,
    scan_key_material,
)
from codekernel.masking.rule_files import read_rules
from codekernel.masking.rules import MaskRuleTable, SecretSpan

REDACTED_MARK = "[hidden]"

# Shorter pieces occur by chance in ordinary words or in other base64 text.
MIN_BASE64_PIECE_CHARACTERS = 8

# Some servers quote the beginning of a key; of a key this long, even that stays secret.
MIN_LONG_SECRET_CHARACTERS = 16

SECRET_PREFIX_CHARACTERS = 8


def redact_secrets(text: str, secrets: Iterable[str]) -> str:
    """``text`` without any of ``secrets``, whether plain, URL-encoded, escaped or in base64."""
    patterns = {pattern for secret in secrets if secret for pattern in _list_patterns(secret)}
    if not patterns:
        return text
    # The longest first: an encoded form may contain a plain one.
    either = "|".join(sorted(patterns, key=len, reverse=True))
    return re.sub(either, REDACTED_MARK, text, flags=re.IGNORECASE)


def list_request_secrets(url: str, api_key: str) -> tuple[str, ...]:
    """List what must not be repeated of a request: its key, and the values in its query string."""
    return (api_key, *(value for _, value in parse_qsl(urlsplit(url).query)))


def _list_patterns(secret: str) -> Iterator[str]:
    spellings = (
        secret,
        quote(secret),
        quote(secret, safe=""),
        quote_plus(secret),
        html.escape(secret),
        json.dumps(secret)[1:-1],
        secret.replace("/", r"\/"),
        *_list_base64_pieces(secret.encode(errors="replace")),
    )
    yield from map(re.escape, spellings)
    if len(secret) >= MIN_LONG_SECRET_CHARACTERS:
        yield re.escape(secret[:SECRET_PREFIX_CHARACTERS]) + r"[^\s\"'<>,;]*"


def _list_base64_pieces(secret: bytes) -> Iterator[str]:
    """Yield what base64 of any longer text, such as ``user:secret``, must contain."""
    for bytes_before in range(3):
        encoded = base64.b64encode(bytes(bytes_before) + secret).decode()
        first = (bytes_before * 8 + 5) // 6  # the characters before it depend on what precedes
        whole = encoded.rstrip("=")
        if (bytes_before + len(secret)) % 3:
            whole = whole[:-1]  # the last character depends on what follows
        piece = whole[first:]
        if len(piece) >= MIN_BASE64_PIECE_CHARACTERS:
            yield piece
            yield piece.replace("+", "-").replace("/", "_")


MASK_PREFIX = "[masked: "

# Every token has a run of these characters in it; most texts have few such runs, which makes the
# search for the prefixes of tokens ten times as fast.
_LONG_RUN = re.compile(r"(?<![a-z0-9_+/=.~%:!$|@-])[a-z0-9_+/=.~%:!$|@-]{16,}")

_TOKEN_TABLE = MaskRuleTable(read_rules("tokens"))

_CONTEXT_TABLE = MaskRuleTable(
    rule for name in ("private_keys", "context", "syntax") for rule in read_rules(name)
)

_ASCII_LOWER = {ord(letter): ord(letter) + 32 for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}

_EXISTING_MASK = re.compile(r"\[masked: [A-Za-z0-9 .]{1,40}\]")


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A text that may leave the machine, and how many secrets were taken out of it."""

    text: str
    count: int


def mask_secrets(text: str) -> MaskedText:
    """Take the secrets out; the lines stay as many as they were."""
    # str.lower would change the length of some texts, and with it every position.
    lowered = text.lower() if text.isascii() else text.translate(_ASCII_LOWER)
    spans = sorted(_find_spans(text, lowered))
    if not spans:
        return MaskedText(text, 0)
    marked = (
        [match.span() for match in _EXISTING_MASK.finditer(text)] if MASK_PREFIX in text else []
    )
    parts: list[str] = []
    count = done = 0
    for begin, end, kind in _merge_spans(spans):
        if any(first < end and begin < last for first, last in marked):
            continue  # was masked before
        parts += (text[done:begin], f"{MASK_PREFIX}{kind}]", "\n" * text.count("\n", begin, end))
        done = end
        count += 1
    parts.append(text[done:])
    return MaskedText("".join(parts), count)


# For texts that are sent again and again, as the messages of a conversation are.
mask_secrets_cached = lru_cache(maxsize=4096)(mask_secrets)


def _find_spans(text: str, lowered: str) -> Iterator[SecretSpan]:
    yield from _CONTEXT_TABLE.scan(text, lowered)
    yield from scan_assignments(text, lowered)
    yield from scan_kubernetes_secrets(text, lowered)
    runs = _LONG_RUN.findall(lowered)
    if runs:
        longest = len(max(runs, key=len))
        yield from _TOKEN_TABLE.scan(text, " ".join(runs), longest)
        if longest >= MIN_UNNAMED_KEY_CHARACTERS:
            yield from UNNAMED_KEY_RULE.find_spans(text)
        if longest >= MIN_MATERIAL_CHARACTERS:
            yield from scan_key_material(text)


def _merge_spans(spans: Iterable[SecretSpan]) -> Iterator[SecretSpan]:
    """Yield spans that do not overlap; the one that begins first says what it is."""
    current: SecretSpan | None = None
    for span in spans:
        if current is None or span.begin >= current.end:
            if current:
                yield current
            current = span
        elif span.end > current.end:
            current = current._replace(end=span.end)
    if current:
        yield current


LOG_MASK = "***"

# No part of the kernel logs a key on purpose; this catches a library or a server that quotes one.
_LOGGED_KEY = re.compile(r"(?i)(bearer\s+|\bsk-|api[-_]?key[\"']?\s*[:=]\s*[\"']?)[^\s\"',;]{6,}")


def mask_log_line(line: str) -> str:
    """Return a line, or a traceback, without keys."""
    return mask_secrets(_LOGGED_KEY.sub(rf"\1{LOG_MASK}", line)).text
