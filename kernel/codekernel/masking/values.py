"""Checks of a value: whether it is random, made of words, a placeholder, a password, a token.

Reads the words and patterns of rule_files/ for them.
"""

import base64
import binascii
import math
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).with_name("rule_files")

_BLOCK = re.compile(r"^([^#\s].*)\n((?: {4}.*\n)+)", re.MULTILINE)


def read_blocks(name: str) -> list[tuple[str, str]]:
    """Return each head line of a file in rule_files/ with the indented lines below it."""
    return _BLOCK.findall((_FOLDER / f"{name}.txt").read_text("utf-8"))


_WORDS, _PATTERNS = dict(read_blocks("words")), dict(read_blocks("patterns"))

_MACRO = re.compile(r"\{([A-Z]\w+)\}")


def join_pattern(block: str) -> str:
    """Return the pattern in the lines of a block."""
    joined = block[4:-1].replace("\n    ", "")
    return _MACRO.sub(lambda match: join_pattern(_PATTERNS[match[1]]), joined)


def read_pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of this name in rule_files/patterns.txt."""
    return re.compile(join_pattern(_PATTERNS[name]))


def read_words(name: str) -> list[str]:
    """Return the words of this name in rule_files/words.txt."""
    return _WORDS[name].split()


class SecretSpan(NamedTuple):
    """A part of a text to be masked, and what it is."""

    begin: int
    end: int
    kind: str


MIN_RANDOM_CHARACTERS = 8

# Bits per character, and the share of what as many different characters would have: 20 random
# hexadecimal digits have 3.4 bits on average, and one in a thousand less than 2.7.
MIN_RANDOM_ENTROPY_BITS = 2.7

MIN_ENTROPY_RATIO = 0.7

# Identifiers of twelve letters and more have 7.1 on average and nine in ten above 5.7; random
# letters have 3.0, and one in a hundred of 20 letters above 4.8.
MIN_WORD_SCORE = 5.0

# With capitals and digits and nothing to join words: most such values are random.
MIN_MIXED_WORD_SCORE = 5.8

# Random letters of both cases change their case every second letter, camelCase every fifth or so.
MIN_CAMEL_PART_CHARACTERS = 3.0

_LETTER_PAIR_FREQUENCY = read_words("letter pairs")

_ORD_A = ord("a")

_CAMEL_CASE_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]+")

_DIGITS = re.compile(r"\d+")

_MIXED_CHARACTER_CLASSES = 3  # of small letters, capitals, digits and other signs

_PRINTABLE_ASCII = frozenset(b"\r\n\t") | frozenset(range(ord(" "), ord("~") + 1))

_HEX = re.compile(r"(?:0x)?[0-9a-fA-F-]+")


def compute_entropy_bits(value: str) -> float:
    """Return the entropy of one character."""
    length = len(value)
    return -sum(count / length * math.log2(count / length) for count in Counter(value).values())


def count_character_classes(value: str) -> int:
    """Return how many kinds of characters there are: small, capital, digit, other."""
    return (
        any(map(str.islower, value))
        + any(map(str.isupper, value))
        + any(map(str.isdigit, value))
        + (not value.isalnum())
    )


def is_wordlike(value: str) -> bool:
    """Return whether the letters of a value are words, joined in any way; digits do not count."""
    if not value.isascii():
        return True
    humps = _CAMEL_CASE_PARTS.findall(value)
    scores = [
        int(_LETTER_PAIR_FREQUENCY[ord(first) - _ORD_A][ord(second) - _ORD_A])
        for hump in humps
        for first, second in pairwise(hump.lower())
    ]
    is_mixed = value.isalnum() and (
        count_character_classes(value) == _MIXED_CHARACTER_CLASSES
        or len(_DIGITS.findall(value)) > 1
    )
    min_score = MIN_MIXED_WORD_SCORE if is_mixed else MIN_WORD_SCORE
    is_long = sum(map(len, humps)) >= MIN_CAMEL_PART_CHARACTERS * len(humps)
    return bool(scores) and is_long and sum(scores) >= min_score * len(scores)


def is_random(value: str) -> bool:
    """Return whether a value was generated rather than being a name or a sentence."""
    length = len(value)
    if length < MIN_RANDOM_CHARACTERS or " " in value or value.isdigit():
        return False
    if compute_entropy_bits(value) < min(
        MIN_RANDOM_ENTROPY_BITS, math.log2(length) * MIN_ENTROPY_RATIO
    ):
        return False
    digits = sum(map(str.isdigit, value))
    # Digits throughout are no word; a few of them end or join one: ``sha256``, ``utf8``.
    if digits * 4 >= length and (digits * 2 <= length or _HEX.fullmatch(value)):
        return True
    return not is_wordlike(value) and any(map(str.isalpha, value))


def is_encoded_text(value: str) -> bool:
    """Return whether base64 holds text that a person can read."""
    try:
        decoded = base64.b64decode(value[: len(value) // 4 * 4])
    except binascii.Error:
        return False
    printable = sum(byte in _PRINTABLE_ASCII for byte in decoded)
    return printable * 10 >= len(decoded) * 9


_TEMPLATE = read_pattern("template")

# Calls and look-ups: what runs, not what is.
_REFERENCE = read_pattern("reference")

_REPEATED = re.compile(r"(.{1,3})\1{2,}.{0,2}$|(.{4,12}?)\2{2,}.{0,12}$")

_REPEATED_WORD = re.compile(r"(.{4,12}?)\1.{0,12}$")

_SEQUENCES = read_words("sequences")

# Inside a value, in lower case.
_EXAMPLE = read_pattern("example")

_X_PLACEHOLDER = re.compile(r"x{4,}|X{4,}")

# The same, but short enough to stand in a random value by chance.
_EXAMPLE_WORDS = read_pattern("example words")

_DEFAULTS = frozenset(read_words("defaults"))

_TRAILING_SIGNS = re.compile(r"[\d!@#$%^&*_.?:;,~+=-]*$")

MIN_VALUE_CHARACTERS = 4


def is_placeholder(value: str) -> bool:
    """Return whether a value is a template, a reference, an example or a usual default."""
    small = value.lower()
    return bool(
        len(value) < MIN_VALUE_CHARACTERS
        or _TEMPLATE.match(value)
        or _REPEATED.match(value)
        or _X_PLACEHOLDER.search(value)
        or _EXAMPLE.search(small)
        or ((_EXAMPLE_WORDS.search(small) or _REPEATED_WORD.match(value)) and is_wordlike(value))
        or not (bare := _TRAILING_SIGNS.sub("", small))
        or bare in _DEFAULTS
        or any(small in sequence for sequence in _SEQUENCES)
    )


def is_reference(value: str) -> bool:
    """Return whether an unquoted value is a call, a look-up or a path of names."""
    return _REFERENCE.match(value) is not None


MIN_TOKEN_CHARACTERS = 16

# Shorter ones are those of examples.
MIN_LOGIN_CHARACTERS = 6

_EXAMPLE_WORD = re.compile(
    r"(?i)pass|pwd|secret|token|user|login|admin|test|foo|bar|auth|key|cred|word"
)

_OPTION_OR_PATH = re.compile(r"\$|/|http|--?[a-z]")


def is_login_secret(value: str) -> bool:
    """Return whether what stands in the place of a password is one, rather than an example."""
    if len(value) < MIN_LOGIN_CHARACTERS or value.isdigit() or is_placeholder(value):
        return False
    if _OPTION_OR_PATH.match(value):
        return False
    is_plain = value.replace("-", "").replace("_", "").isalnum()
    is_word = is_plain and not any(map(str.isdigit, value))
    return not ((is_word or _EXAMPLE_WORD.search(value)) and is_wordlike(value))


def is_any_password(value: str) -> bool:
    """Return whether a value is no stand-in, where nothing but a password can stand."""
    return not is_placeholder(value) and not value.startswith(("$", "/"))


def is_bearer_token(value: str) -> bool:
    """Return whether a value was generated."""
    return len(value) >= MIN_TOKEN_CHARACTERS and is_random(value) and not is_placeholder(value)


def is_basic_credential(value: str) -> bool:
    """Return whether base64 holds a user and a password that is not an example."""
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4)).decode("utf-8")
    except (binascii.Error, ValueError):
        return is_bearer_token(value)
    _, colon, password = decoded.partition(":")
    return bool(colon) and is_login_secret(password)


def is_encoded_secret(value: str) -> bool:
    """Return whether base64 in a Secret of Kubernetes holds something other than a stand-in."""
    try:
        decoded = base64.b64decode(value, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return True
    return not is_placeholder(decoded)


def is_random_login(value: str) -> bool:
    """Return whether a value is a password that was generated."""
    return is_random(value) and is_login_secret(value)


_SENTENCE = re.compile(r"(?i)passw|enter|must|your|please|invalid|the |for |with")


def is_passphrase(value: str) -> bool:
    """Return whether several words are a passphrase and not a sentence about one."""
    return not _SENTENCE.search(value)


_MIN_UNNAMED_KEY_DIGITS = 3


def is_unnamed_key(value: str) -> bool:
    """Return whether a string that nothing is known of can hardly be anything but a key."""
    if count_character_classes(value) < _MIXED_CHARACTER_CLASSES:  # no checksum, no identifier
        return False
    if sum(map(str.isdigit, value)) < _MIN_UNNAMED_KEY_DIGITS:
        return False
    return not (is_wordlike(value) or is_placeholder(value) or is_encoded_text(value))
