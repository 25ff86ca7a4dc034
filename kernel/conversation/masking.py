"""Secrets taken out of a text before it leaves the machine; the person's own screen keeps them."""

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import partial

# Bits per character. English words and identifiers of this length lie below 3.3, random base64
# above 3.8; hexadecimal digits reach 4.0 at most and about 3.2 in sixteen of them.
_RANDOM_BITS = 3.3
_FEWEST_CHARACTERS = 8

_KNOWN: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "private key",
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?!-----(?:BEGIN|END))[\s\S]){0,20000}-----END [A-Z0-9 ]{0,40}-----"
        ),
    ),
    (
        "private key",  # its end lies in another chunk
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^\n]*"
            r"(?:\n[ \t\"'#*+]*(?:[A-Za-z0-9+/=]{1,100}|[A-Z][A-Za-z-]{1,30}: [^\n]*|)"
            r"[ \t\"',+\\]*(?:\\n)?[\"']?\r?(?=\n|\Z))*"
        ),
    ),
    (
        "private key",  # its beginning lies in another chunk
        re.compile(
            r"\A(?:[ \t]*[A-Za-z0-9+/=]{1,100}\r?\n){0,400}"
            r"[ \t]*-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        ),
    ),
    # The middle of a key, between two chunks; nobody can read it, whatever it is.
    (
        "key material",
        re.compile(r"(?:^[ \t\"']*[A-Za-z0-9+/]{60,80}[ \t\"',\\n]*\r?\n){3,}", re.MULTILINE),
    ),
    ("AWS key", re.compile(r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{16}\b")),
    (
        "AWS secret",
        re.compile(
            r"(?i:aws|amazon)[\w. \"'-]{0,40}(?:=>|[:=])\s{0,4}[\"']?"
            r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
        ),
    ),
    ("GitHub token", re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{22,255})\b")),
    ("GitLab token", re.compile(r"\bgl(?:pat|dt|rt|oas)-[\w-]{20,64}")),
    ("API key", re.compile(r"\bsk-(?:proj-|ant-|or-|svcacct-)?[A-Za-z0-9_-]{20,255}")),
    ("Stripe key", re.compile(r"\b(?:sk|rk|whsec)_(?:live_|test_)?[0-9A-Za-z]{16,128}\b")),
    ("Google key", re.compile(r"\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,255}")),
    ("Slack token", re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,255}")),
    (
        "webhook",
        re.compile(r"https://(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/\S+"),
    ),
    ("registry token", re.compile(r"\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{50,255}")),
    ("Hugging Face token", re.compile(r"\bhf_[A-Za-z0-9]{30,64}\b")),
    ("JWT", re.compile(r"\beyJ[\w-]{8,2000}\.eyJ[\w-]{4,4000}\.[\w-]{10,1000}")),
    ("bearer token", re.compile(r"\b[Bb]earer\s+(?P<secret>[A-Za-z0-9._~+/-]{20,2000}=*)")),
    ("password", re.compile(r"://[^\s/:@\"']{1,100}:(?P<secret>[^\s/@\"'{}$<]{3,200})@")),
)
_WORDS = re.compile(r"[A-Za-z]+(?:[_./:-]+[A-Za-z]+)*")
_NAME = (
    r"(?i:pass(?:word|wd|phrase)?|pwd|secret|token|credential|api_?-?key|access_?-?key"
    r"|private_?-?key|client_?-?secret|encryption_?-?key|signing_?-?key|auth)"
)
_ASSIGNED = re.compile(
    rf"{_NAME}\w{{0,40}}[\"']?\]?\s{{0,4}}(?::=|=>|[:=])\s{{0,4}}"
    r"(?:(?P<quote>[\"'`])(?P<quoted>[^\"'`\n]{8,500})(?P=quote)"
    r"|(?P<bare>[^\s\"'`(){}\[\];,<>$]{12,500})[ \t]*$)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Masked:
    """A text that may leave the machine, and how many secrets were taken out of it."""

    text: str
    count: int


def masked(text: str) -> Masked:
    """Take the secrets out; the lines stay as many as they were."""
    count = 0
    for kind, pattern in _KNOWN:
        text, found = pattern.subn(partial(_instead, kind), text)
        count += found

    def judge(match: re.Match[str]) -> str:
        nonlocal count
        group = "quoted" if match["quoted"] is not None else "bare"
        if not _looks_random(match[group]):
            return match[0]
        count += 1
        return _cut(match, match.start(group), match.end(group), "secret")

    return Masked(_ASSIGNED.sub(judge, text), count)


def _instead(kind: str, match: re.Match[str]) -> str:
    if "secret" in match.re.groupindex:
        return _cut(match, match.start("secret"), match.end("secret"), kind)
    return _mark(kind, match[0])


def _cut(match: re.Match[str], begin: int, end: int, kind: str) -> str:
    whole, start = match[0], match.start()
    hidden = whole[begin - start : end - start]
    return whole[: begin - start] + _mark(kind, hidden) + whole[end - start :]


def _mark(kind: str, hidden: str) -> str:
    return f"[masked: {kind}]" + "\n" * hidden.count("\n")


def _looks_random(value: str) -> bool:
    """Whether this is a value that somebody generated, rather than a name or a sentence."""
    if len(value) < _FEWEST_CHARACTERS or " " in value or value.startswith("[masked"):
        return False
    if _WORDS.fullmatch(value):
        return False
    kinds = sum(
        any(map(kind, value))
        for kind in (str.islower, str.isupper, str.isdigit, lambda it: not it.isalnum())
    )
    return kinds >= 2 and _bits(value) >= min(_RANDOM_BITS, math.log2(len(value)) * 0.85)  # noqa: PLR2004


def _bits(value: str) -> float:
    """The entropy of one character."""
    length = len(value)
    return -sum(count / length * math.log2(count / length) for count in Counter(value).values())
