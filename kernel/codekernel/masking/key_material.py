"""Keys without a name: the middle of a private key, and strings that can only be a key."""

import re
from collections.abc import Iterator

from codekernel.masking.rules import (
    MaskRule,
    SecretSpan,
    compute_entropy_bits,
    count_character_classes,
    is_encoded_text,
    is_placeholder,
    is_wordlike,
)

# The middle of a key, between two chunks, with line numbers or without: 64 characters a line, 70 in
# the format of OpenSSH. Images and mail have 76.
_KEY_MATERIAL = re.compile(
    r"(?:^(?:[ \t]*\d{1,7}[ \t]*(?:\||>>>))?[ \t\"']*(?:[A-Za-z0-9+/]{64}"
    r"|[A-Za-z0-9+/]{70})[ \t\"',\\n]*\r?\n){3,}",
    re.MULTILINE,
)

_PUBLIC_BLOCK = re.compile(r"-----BEGIN (?![A-Z0-9 ]{0,40}PRIVATE)[A-Z0-9 ]{1,40}-----")

_MATERIAL_LINE = re.compile(r"[A-Za-z0-9+/]{64,70}")

MIN_MATERIAL_CHARACTERS = 60

# Of six bits per character; data that repeats has less.
MIN_MATERIAL_BITS = 5.2


def scan_key_material(text: str) -> Iterator[SecretSpan]:
    """Yield lines of base64 that may be the middle of a key: no certificate, no encoded text."""
    for match in _KEY_MATERIAL.finditer(text):
        lines = "".join(_MATERIAL_LINE.findall(match[0]))
        if compute_entropy_bits(lines) < MIN_MATERIAL_BITS or is_encoded_text(lines):
            continue
        before = _PUBLIC_BLOCK.split(text[: match.start()])
        if len(before) > 1 and "-----END" not in before[-1]:
            continue
        yield SecretSpan(*match.span(), "key material")


MIN_UNNAMED_KEY_CHARACTERS = 32

_MIN_UNNAMED_KEY_DIGITS = 3


def is_unnamed_key(value: str) -> bool:
    """Return whether a string that nothing is known of can hardly be anything but a key."""
    if count_character_classes(value) < 3 or sum(map(str.isdigit, value)) < _MIN_UNNAMED_KEY_DIGITS:  # noqa: PLR2004
        return False  # small letters, capitals and digits: no checksum, no identifier
    return not (is_wordlike(value) or is_placeholder(value) or is_encoded_text(value))


# 20 of the 270,000 chunks of the benchmark's repositories have such a string.
UNNAMED_KEY_RULE = MaskRule(
    "key",
    ("",),
    r"(?:[=:(]|=>)[ \t]{0,3}\\?[\"'](?P<secret>[A-Za-z0-9]{32,72})\\?[\"']",
    4.2,
    is_unnamed_key,
)
