"""Mask the secrets of a text before it leaves the machine.

By rules, by known values in any encoding, and in log lines. The user's own screen is not masked.

Rules are those of rule_files/*.txt, of Kubernetes Secrets, of keys without a name, and those of
assignments.py. A rule of the files is a head line and a pattern. The head has fields separated by
tabs: the kind, the keywords (separated by blanks; a blank in a keyword is written as U+2423), and
options: min_entropy, min_run, accepts. The pattern follows in indented lines, which are joined;
{NAME} is replaced by the pattern of that name in patterns.txt.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

from codekernel.domain.untrusted_text import escape_html
from codekernel.masking import values
from codekernel.masking.assignments import scan_assignments

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
        escape_html(secret),
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


@dataclass(frozen=True, eq=False)
class MaskRule:
    """Text that ``pattern`` matches is a secret; its group ``secret`` if it has one.

    ``keywords`` are lower-case; one of them is in every text that can match. A pattern is linear in
    the length of the text: every repetition is bounded, or cannot be entered in two ways.
    """

    kind: str
    keywords: tuple[str, ...]
    pattern: str
    # Bits per character; keeps names such as ``sk-something-in-words`` out.
    min_entropy: float = 0.0
    accepts: Callable[[str], bool] | None = None
    # The longest run of characters in the text is at least so long; for keywords that are common.
    min_run: int = 0

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The pattern, compiled when first needed."""
        return re.compile(self.pattern, re.MULTILINE)

    def find_spans(self, text: str) -> Iterator[values.SecretSpan]:
        """Yield what is to be masked."""
        group = "secret" if "secret" in self.compiled.groupindex else 0
        for match in self.compiled.finditer(text):
            begin, end = match.span(group)
            if begin < 0:
                continue
            value = text[begin:end]
            if self.min_entropy and values.compute_entropy_bits(value) < self.min_entropy:
                continue
            if self.accepts is None or self.accepts(value):
                yield values.SecretSpan(begin, end, self.kind)


class MaskRuleTable:
    """Rules with their keywords side by side, so that a text is searched for each in one loop."""

    def __init__(self, rules: Iterable[MaskRule]) -> None:
        self._keywords = [(keyword, rule) for rule in rules for keyword in rule.keywords]

    def scan(self, text: str, lowered: str, longest_run: int = 0) -> Iterator[values.SecretSpan]:
        """Yield what the rules find whose keyword is in ``where``, lower-case text of ``text``."""
        for rule in dict.fromkeys([rule for keyword, rule in self._keywords if keyword in lowered]):
            if rule.min_run <= longest_run:
                yield from rule.find_spans(text)


def read_rules(name: str) -> list[MaskRule]:
    """Return the rules of a file."""
    return [_build_rule(head, block) for head, block in values.read_blocks(name)]


def _build_rule(head: str, block: str) -> MaskRule:
    kind, keywords, *fields = head.split("\t")
    options = dict(field.split("=") for field in fields)
    return MaskRule(
        kind,
        tuple(keyword.replace("␣", " ") for keyword in keywords.split(" ")),
        values.join_pattern(block),
        float(options.get("min_entropy", 0)),
        getattr(values, options["accepts"]) if "accepts" in options else None,
        int(options.get("min_run", 0)),
    )


_SECRET_KIND = re.compile(r"\bkind\\?[\"']?:[ \t]*\\?[\"']?Secret\b")

_DATA_BLOCK, _DATA_ENTRY = values.read_pattern("data block"), values.read_pattern("data entry")

_JSON_BLOCK = re.compile(r"\"(?:data|stringData)\"\s{0,4}:\s{0,4}\{(?P<lines>[^{}]{1,20000})\}")

_JSON_ENTRY = re.compile(r"\"[\w.-]{1,200}\"\s{0,4}:\s{0,4}\"(?P<value>[^\"\n]{1,8000})\"")


def scan_kubernetes_secrets(text: str, lowered: str) -> Iterator[values.SecretSpan]:
    """Yield the values of every Secret in a manifest."""
    if "kind" not in lowered or not _SECRET_KIND.search(text):
        return
    for block_pattern, entry in ((_DATA_BLOCK, _DATA_ENTRY), (_JSON_BLOCK, _JSON_ENTRY)):
        for block in block_pattern.finditer(text):
            for match in entry.finditer(text, *block.span("lines")):
                value = match["value"]
                if not values.is_placeholder(value) and values.is_encoded_secret(value):
                    yield values.SecretSpan(*match.span("value"), "secret")


_KEY_MATERIAL = values.read_pattern("key material")

_PUBLIC_BLOCK = re.compile(r"-----BEGIN (?![A-Z0-9 ]{0,40}PRIVATE)[A-Z0-9 ]{1,40}-----")

_MATERIAL_LINE = re.compile(r"[A-Za-z0-9+/]{64,70}")

MIN_MATERIAL_CHARACTERS = 60

# Of six bits per character; data that repeats has less.
MIN_MATERIAL_BITS = 5.2


def scan_key_material(text: str) -> Iterator[values.SecretSpan]:
    """Yield lines of base64 that may be the middle of a key: no certificate, no encoded text."""
    for match in _KEY_MATERIAL.finditer(text):
        lines = "".join(_MATERIAL_LINE.findall(match[0]))
        if values.compute_entropy_bits(lines) < MIN_MATERIAL_BITS or values.is_encoded_text(lines):
            continue
        _, *public_blocks = _PUBLIC_BLOCK.split(text[: match.start()])
        if not public_blocks or "-----END" in public_blocks[-1]:
            yield values.SecretSpan(*match.span(), "key material")


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


def _find_spans(text: str, lowered: str) -> Iterator[values.SecretSpan]:
    yield from _CONTEXT_TABLE.scan(text, lowered)
    yield from scan_assignments(text, lowered)
    yield from scan_kubernetes_secrets(text, lowered)
    runs = _LONG_RUN.findall(lowered)
    if runs:
        longest = len(max(runs, key=len))
        yield from _TOKEN_TABLE.scan(text, " ".join(runs), longest)
        if longest >= MIN_MATERIAL_CHARACTERS:
            yield from scan_key_material(text)


def _merge_spans(spans: Iterable[values.SecretSpan]) -> list[values.SecretSpan]:
    """Return spans that do not overlap; the one that begins first says what it is."""
    merged: list[values.SecretSpan] = []
    for span in spans:
        if merged and span.begin < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(span.end, merged[-1].end))
        else:
            merged.append(span)
    return merged


LOG_MASK = "***"

# No part of the kernel logs a key on purpose; this catches a library or a server that quotes one.
_LOGGED_KEY = re.compile(r"(?i)(bearer\s+|\bsk-|api[-_]?key[\"']?\s*[:=]\s*[\"']?)[^\s\"',;]{6,}")


def mask_log_line(line: str) -> str:
    """Return a line, or a traceback, without keys."""
    return mask_secrets(_LOGGED_KEY.sub(rf"\1{LOG_MASK}", line)).text
