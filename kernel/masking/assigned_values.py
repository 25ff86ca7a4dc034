"""Whether a value that is assigned to the name of a secret is one."""

import re
from typing import NamedTuple

from kernel.masking.names import NameKind
from kernel.masking.placeholders import is_placeholder, is_reference
from kernel.masking.randomness import MIN_RANDOM_CHARACTERS, count_classes, is_random, is_wordlike

MIN_PASSWORD_CHARACTERS = 6
MIN_SECRET_CHARACTERS = 12
MIN_QUALIFIED_CHARACTERS = 16
MIN_WEAK_CHARACTERS = 24
# Behind a mere word and a space, as in a log line.
MIN_SPOKEN_CHARACTERS = 16

_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)*[!?]?")
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_PATH = re.compile(r"(?:\.{0,2}/|~/|--?[a-z][a-z-]*(?:=.*)?$|[A-Za-z]:\\|[a-z][a-z0-9+.-]*://)")
# What is public of a key: in DER, and of SSH.
_PUBLIC_KEY = re.compile(
    r"MFkwEwYHKoZIzj0CAQ|MIIB[A-Z]jANBgkq|MIIC[A-Z]jANBgkq|MIGfMA0|MCowBQYDK2V|ssh-|ecdsa-|AAAA[A-Z][23]"
)
_SPECIAL = re.compile(r"[!@#$%^&*?+=~]")
# What the passwords of examples and tests are made of.
_SPOKEN_OF = re.compile(r"(?i)pass|pwd|secret|token|user|login|test|auth|admin|foo|bar|field|key")
_SPOKEN = frozenset({"", "is", "was", "to", "of", "as", "is:", "was:"})
_COMPARISONS = frozenset({"==", "===", "!=", "!==", "->", "||"})
_MIN_CHARACTERS = {
    NameKind.PASSWORD: MIN_SECRET_CHARACTERS,
    NameKind.SECRET: MIN_SECRET_CHARACTERS,
    NameKind.QUALIFIED: MIN_QUALIFIED_CHARACTERS,
    NameKind.WEAK: MIN_WEAK_CHARACTERS,
}


class Setting(NamedTuple):
    """What stands around an unquoted value: the sign before it, the character that ends it."""

    separator: str
    behind: str
    # The line is one of configuration: a name, a sign and a value.
    is_config: bool

    @property
    def is_tight(self) -> bool:
        """Whether the value cannot be an argument of a call in source."""
        return self.separator in {"=", ">"} and self.behind not in {",", ")"}


def is_quoted_secret(kind: NameKind, value: str, *, is_spoken: bool) -> bool:
    """Return whether a string is a secret; ``is_spoken`` if no sign stands before it."""
    if " " in value or "," in value or is_placeholder(value) or _is_other(value):
        return False
    if is_spoken:
        return _is_generated(value, MIN_SPOKEN_CHARACTERS)
    if kind is NameKind.PASSWORD and _is_chosen(value):
        return True
    return _is_generated(value, _MIN_CHARACTERS[kind])


def is_bare_secret(kind: NameKind, value: str, setting: Setting) -> bool:
    """Return whether an unquoted value is a secret."""
    sign = setting.separator.strip()
    if sign in _COMPARISONS or is_placeholder(value) or _is_other(value) or is_reference(value):
        return False
    if setting.behind in {"(", "["} or _CONSTANT.fullmatch(value):
        return False
    is_attribute = "." in value and _IDENTIFIER.fullmatch(value) is not None
    if is_attribute and setting.separator != "=" and not setting.is_config:
        return False
    if sign in _SPOKEN:
        return _is_generated(value, MIN_SPOKEN_CHARACTERS)
    if _is_generated(value, _MIN_CHARACTERS[kind]):
        return True
    return kind is NameKind.PASSWORD and _is_bare_password(value, setting)


def _is_bare_password(value: str, setting: Setting) -> bool:
    if setting.is_config and setting.separator == "=":
        return len(value) >= MIN_PASSWORD_CHARACTERS
    is_given = setting.is_config or setting.is_tight
    if not is_given and _IDENTIFIER.fullmatch(value):
        return False
    return _is_chosen(value, in_config=is_given)


def _is_other(value: str) -> bool:
    """Return whether a value is a path, an address, a flag or a public key."""
    if value.startswith("/") and len(value) >= MIN_WEAK_CHARACTERS and "." not in value:
        return is_wordlike(value)  # base64 may begin so
    return bool(_PATH.match(value) or _PUBLIC_KEY.match(value))


def _is_generated(value: str, min_characters: int) -> bool:
    if len(value) < min_characters or not is_random(value):
        return False
    return min_characters < MIN_QUALIFIED_CHARACTERS or not is_wordlike(value)


def _is_chosen(value: str, *, in_config: bool = False) -> bool:
    """Return whether a short value is a password that a person would choose."""
    if len(value) < MIN_PASSWORD_CHARACTERS or not any(map(str.isalpha, value)):
        return False
    if count_classes(value) == 1:
        return len(value) >= MIN_RANDOM_CHARACTERS and not is_wordlike(value)
    has_digit = any(map(str.isdigit, value))
    if not has_digit and not _SPECIAL.search(value):
        return not is_wordlike(value)
    return in_config or not (_SPOKEN_OF.search(value) and is_wordlike(value))
