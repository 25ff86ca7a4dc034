"""Secrets assigned to a telling name in source, configuration, commands and logs.

Classify the name, then decide whether the value is a secret. In a configuration line any value
that is no placeholder counts; in source it must look generated.
"""

import re
from collections.abc import Iterator
from enum import StrEnum, auto
from typing import NamedTuple

from codekernel.masking.values import (
    MIN_RANDOM_CHARACTERS,
    SecretSpan,
    count_character_classes,
    is_placeholder,
    is_random,
    is_reference,
    is_wordlike,
    read_pattern,
    read_words,
)

# In lower case; where one of them stands, a name is looked at.
SECRET_NAME_KEYWORDS = (
    "pass", "pwd", "contrase", "senha", "密码", "口令", "密碼", "пароль",
    "secret", "token", "key", "auth", "cred", "cookie", "session", "salt", "seed",
    "otp", "webhook", "bearer", "license", "dsn", "jwt", "sid", "_pat", "pin",
)  # fmt: skip


class SecretNameKind(StrEnum):
    """How much a name says of its value; the kind is what the mark says."""

    PASSWORD = auto()  # short values count
    SECRET = auto()  # values that were generated count
    QUALIFIED = "key"  # long values that were generated count
    WEAK = "token"  # longer ones


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\da-zA-Z_]+")

_PASSWORDS = frozenset(read_words("passwords"))

_PASSWORD_ENDINGS = ("password", "passwd", "pwd", "passphrase")

_SECRETS = frozenset(read_words("secrets"))

_SECRET_ENDINGS = ("secret", "token", "apikey", "secretkey", "accesskey", "privatekey")

_KEY_QUALIFIERS = frozenset(read_words("key qualifiers"))

_WEAK = frozenset(read_words("weak"))

# The last word of a name: what it is a thing of.
_DENIED_LAST = frozenset(read_words("denied last"))

# Anywhere in a name.
_DENIED = frozenset(read_words("denied"))

_WORKING_DIRECTORY = frozenset({"PWD", "OLDPWD", "$PWD", "pwd"})


def classify_name(name: str) -> SecretNameKind | None:
    """Return how much a name says of its value; None if it is not that of a secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or _is_denied_name(name, words):
        return None
    if any(word in _PASSWORDS or word.endswith(_PASSWORD_ENDINGS) for word in words):
        return SecretNameKind.PASSWORD
    if _is_secret_name(words):
        return SecretNameKind.SECRET
    if not name.isascii():  # words of other scripts
        return SecretNameKind.PASSWORD
    if _WEAK.isdisjoint(words):
        return None
    # ``linkedin_key``: of something that is not known to have keys of another kind.
    is_qualified = len(words) > 1 and words[-1] == "key"
    return SecretNameKind.QUALIFIED if is_qualified else SecretNameKind.WEAK


def _is_denied_name(name: str, words: list[str]) -> bool:
    is_other = words[-1] in _DENIED_LAST or not _DENIED.isdisjoint(words)
    return is_other or name in _WORKING_DIRECTORY


def _is_secret_name(words: list[str]) -> bool:
    if any(word in _SECRETS or word.endswith(_SECRET_ENDINGS) for word in words):
        return True
    return not {"key", "keys"}.isdisjoint(words) and not _KEY_QUALIFIERS.isdisjoint(words)


MIN_PASSWORD_CHARACTERS = 6

MIN_SECRET_CHARACTERS = 12

MIN_QUALIFIED_CHARACTERS = 16

MIN_WEAK_CHARACTERS = 24

# Behind a mere word and a space, as in a log line.
MIN_PROSE_CHARACTERS = 16

_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)*[!?]?")

_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")

_PATH = re.compile(r"(?:\.{0,2}/|~/|--?[a-z][a-z-]*(?:=.*)?$|[A-Za-z]:\\|[a-z][a-z0-9+.-]*://)")

# What is public of a key: in DER, and of SSH.
_PUBLIC_KEY = re.compile(
    r"MFkwEwYHKoZIzj0CAQ|MIIB[A-Z]jANBgkq|MIIC[A-Z]jANBgkq|MIGfMA0|MCowBQYDK2V|ssh-|ecdsa-|AAAA[A-Z][23]"
)

_SPECIAL_CHARACTER = re.compile(r"[!@#$%^&*?+=~]")

# What the passwords of examples and tests are made of.
_EXAMPLE_PASSWORD = re.compile(
    r"(?i)pass|pwd|secret|token|user|login|test|auth|admin|foo|bar|field|key"
)

_PROSE_SEPARATORS = frozenset({"", "is", "was", "to", "of", "as", "is:", "was:"})

_COMPARISONS = frozenset({"==", "===", "!=", "!==", "->", "||"})

_MIN_CHARACTERS = {
    SecretNameKind.PASSWORD: MIN_SECRET_CHARACTERS,
    SecretNameKind.SECRET: MIN_SECRET_CHARACTERS,
    SecretNameKind.QUALIFIED: MIN_QUALIFIED_CHARACTERS,
    SecretNameKind.WEAK: MIN_WEAK_CHARACTERS,
}


class AssignmentContext(NamedTuple):
    """What stands around an unquoted value: the sign before it, the character that ends it."""

    separator: str
    following: str
    # The line is one of configuration: a name, a sign and a value.
    is_config: bool


def is_quoted_secret(kind: SecretNameKind, value: str, *, is_prose: bool) -> bool:
    """Return whether a string is a secret; ``is_spoken`` if no sign stands before it."""
    if " " in value or "," in value or is_placeholder(value) or _is_path_or_public_key(value):
        return False
    if is_prose:
        return _is_generated(value, MIN_PROSE_CHARACTERS)
    if kind is SecretNameKind.PASSWORD and _is_human_password(value):
        return True
    return _is_generated(value, _MIN_CHARACTERS[kind])


def is_unquoted_secret(kind: SecretNameKind, value: str, context: AssignmentContext) -> bool:
    """Return whether an unquoted value is a secret."""
    sign = context.separator.strip()
    if (
        sign in _COMPARISONS
        or context.following in {"(", "["}
        or is_placeholder(value)
        or _is_path_or_public_key(value)
        or is_reference(value)
        or _CONSTANT.fullmatch(value)
    ):
        return False
    is_attribute = "." in value and _IDENTIFIER.fullmatch(value) is not None
    if is_attribute and context.separator != "=" and not context.is_config:
        return False
    if sign in _PROSE_SEPARATORS:
        return _is_generated(value, MIN_PROSE_CHARACTERS)
    if _is_generated(value, _MIN_CHARACTERS[kind]):
        return True
    return kind is SecretNameKind.PASSWORD and _is_unquoted_password(value, context)


def _is_unquoted_password(value: str, context: AssignmentContext) -> bool:
    if context.is_config and context.separator == "=":
        return len(value) >= MIN_PASSWORD_CHARACTERS
    # Else the value may be an argument of a call in source.
    is_tight = context.separator in {"=", ">"} and context.following not in {",", ")"}
    is_given = context.is_config or is_tight
    if not is_given and _IDENTIFIER.fullmatch(value):
        return False
    return _is_human_password(value, in_config=is_given)


def _is_path_or_public_key(value: str) -> bool:
    """Return whether a value is a path, an address, a flag or a public key."""
    if value.startswith("/") and len(value) >= MIN_WEAK_CHARACTERS and "." not in value:
        return is_wordlike(value)  # base64 may begin so
    return bool(_PATH.match(value) or _PUBLIC_KEY.match(value))


def _is_generated(value: str, min_characters: int) -> bool:
    if len(value) < min_characters or not is_random(value):
        return False
    return min_characters < MIN_QUALIFIED_CHARACTERS or not is_wordlike(value)


def _is_human_password(value: str, *, in_config: bool = False) -> bool:
    """Return whether a short value is a password that a person would choose."""
    if len(value) < MIN_PASSWORD_CHARACTERS or not any(map(str.isalpha, value)):
        return False
    if count_character_classes(value) == 1:
        return len(value) >= MIN_RANDOM_CHARACTERS and not is_wordlike(value)
    has_digit = any(map(str.isdigit, value))
    if not has_digit and not _SPECIAL_CHARACTER.search(value):
        return not is_wordlike(value)
    return in_config or not (_EXAMPLE_PASSWORD.search(value) and is_wordlike(value))


MAX_NAME_CHARACTERS = 60

# Before the name in its line: a path, a line number, a comment sign.
MAX_LINE_HEAD_CHARACTERS = 240

_ASSIGNMENT = read_pattern("assignment")

_NAME_BEFORE = re.compile(r"[\w.\-]*\Z")

# What may stand before the name in a line of configuration, also when the line is shown with its
# number, its file or the sign of a patch.
_LINE_HEAD = read_pattern("line head")

_REST_OF_LINE = re.compile(r"[^\n\r]{1,500}")

_COMMENT = re.compile(r"[ \t]+(?:#|//|;|--).*$")


def scan_assignments(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield the values that names give away; ``lowered`` is the text in lower case."""
    tried = set[int]()
    for keyword in SECRET_NAME_KEYWORDS:
        place = lowered.find(keyword)
        while place >= 0:
            match = _ASSIGNMENT.match(text, place)
            if match and match.end("sep") not in tried:
                tried.add(match.end("sep"))
                span = _check_assignment(text, place, match)
                if span:
                    yield span
            place = lowered.find(keyword, place + len(keyword))


def _check_assignment(text: str, place: int, match: re.Match[str]) -> SecretSpan | None:
    before = _NAME_BEFORE.search(text, max(0, place - MAX_NAME_CHARACTERS), place)
    name_start = before.start() if before else place
    kind = classify_name(text[name_start : match.end("rest")])
    if kind is None or not _is_assigned(text, name_start, match):
        return None
    group = match.lastgroup
    if group is None or group == "bare":
        return _check_unquoted_value(text, name_start, match, kind)
    # A constant: ``#define PASSWORD "..."``, while ``pass `--flag` `` is a sentence.
    is_spoken = not match["sep"].strip() and not text[place].isupper()
    is_secret = is_quoted_secret(kind, match[group], is_prose=is_spoken)
    return SecretSpan(*match.span(group), kind.value) if is_secret else None


def _check_unquoted_value(
    text: str, name_start: int, match: re.Match[str], kind: SecretNameKind
) -> SecretSpan | None:
    begin, end = match.span("bare")
    is_config = _is_config_line(text, name_start, match)
    if is_config:
        rest = _REST_OF_LINE.match(text, begin)
        line = _COMMENT.sub("", rest[0]).rstrip() if rest else ""
        if " " not in line and "\\n" not in line:
            end = max(end, begin + len(line))
    else:
        end = min(end, (text.find("&", begin, end) + 1 or end + 1) - 1)
    value = text[begin:end].rstrip(".")
    setting = AssignmentContext(match["sep"], text[end : end + 1], is_config=is_config)
    return (
        SecretSpan(begin, begin + len(value), kind.value)
        if is_unquoted_secret(kind, value, setting)
        else None
    )


def _is_assigned(text: str, name_start: int, match: re.Match[str]) -> bool:
    """Return whether ``name, "value"`` and ``name("value"`` give the name its value.

    Names in a list follow each other, and a method is called with something else.
    """
    sign = match["sep"][:1]
    if sign == "(":
        return "." not in match["rest"]
    if sign == "," and match["closing"]:
        return text[max(0, name_start - 6) : name_start].rstrip("\"'`\\ ").endswith("(")
    return True


def _is_config_line(text: str, name_start: int, match: re.Match[str]) -> bool:
    """Return whether the line is ``name=value`` or ``name: value`` and nothing else."""
    separator = match["sep"].strip()
    if "alue" in separator:
        return True  # name and value are two entries
    if separator not in {"=", ":"} or match["typed"] or "\n" in match["sep"]:
        return False
    line_start = text.rfind("\n", 0, name_start) + 1
    is_near = name_start - line_start <= MAX_LINE_HEAD_CHARACTERS
    if not is_near or not _LINE_HEAD.match(text, line_start, name_start):
        return False
    rest = _REST_OF_LINE.match(text, match.end("bare"))
    behind = rest[0].rstrip() if rest else ""
    if behind.endswith((",", ";", "{", "(", "[")):
        return False  # source
    is_end = behind[:1] in {" ", "\t"} or behind[1:2] in {"", " ", "\t"}
    if not behind or not is_end or _COMMENT.fullmatch(behind):
        return True
    # A variable set for one command.
    return match["sep"] == "=" and behind[0] in " \t" and text[name_start].isupper()
