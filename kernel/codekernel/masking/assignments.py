"""Secrets assigned to a telling name in source, configuration, commands and logs.

Classify the name, then decide whether the value is a secret. In a configuration line any value
that is no placeholder counts; in source it must look generated.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from codekernel.domain.word_sets import word_set
from codekernel.masking.rules import (
    MIN_RANDOM_CHARACTERS,
    SecretSpan,
    count_character_classes,
    is_placeholder,
    is_random,
    is_reference,
    is_wordlike,
)

# In lower case; where one of them stands, a name is looked at.
SECRET_NAME_KEYWORDS = (
    "pass", "pwd", "contrase", "senha", "密码", "口令", "密碼", "пароль",
    "secret", "token", "key", "auth", "cred", "cookie", "session", "salt", "seed",
    "otp", "webhook", "bearer", "license", "dsn", "jwt", "sid", "_pat", "pin",
)  # fmt: skip


class SecretNameKind(Enum):
    """How much a name says of its value."""

    PASSWORD = "password"  # noqa: S105 - a kind, and what the mark says; short values count
    SECRET = "secret"  # noqa: S105 - likewise; values that were generated count
    QUALIFIED = "key"  # long values that were generated count
    WEAK = "token"  # longer ones


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\da-zA-Z_]+")

_PASSWORDS = word_set(
    "password passwords passwd passwort passphrase pwd pass passwrd contraseña contrasena senha "
    "пароль pgpassword mysqlpwd dbpass userpass"
)

_PASSWORD_ENDINGS = ("password", "passwd", "pwd", "passphrase")

_SECRETS = word_set(
    "secret secrets token tokens credential credentials cred creds apikey secretkey accesskey "
    "privatekey authkey authtoken accesstoken refreshtoken clientsecret appsecret appkey jwt "
    "bearer psk pat dsn masterkey encryptionkey signingkey"
)

_SECRET_ENDINGS = ("secret", "token", "apikey", "secretkey", "accesskey", "privatekey")

_KEY_QUALIFIERS = word_set(
    "api app application access account auth private priv secret encryption encrypt encrypted "
    "signing sign signature master shared service server client admin license licence deploy "
    "write ingest ingestion integration function storage subscription consumer project hmac aes "
    "rsa ssh jwt crypt crypto cipher vapid session security webhook rest global team org "
    "organization merchant developer live host preshared pre wrapping db database ca gpg pgp "
    "rails django flask base x instrumentation user registration activation recovery backup "
    "wallet seed dek kek"
)

_WEAK = word_set(
    "auth authorization key keys cookie session sessionid salt seed otp totp webhook license "
    "licence sid pin"
)

# The last word of a name: what it is a thing of.
_DENIED_LAST = word_set(
    "id ids name names type types file files filename path paths dir url urls uri endpoint host "
    "port len length size count limit max min age ttl exp expires expiry expiration expired "
    "duration timeout at time date header headers field fields param params prefix suffix regex "
    "pattern format schema label title hint help desc description message msg error err errors "
    "placeholder required enabled disabled policy rule rules strength index idx position pos "
    "offset kind class cls func fn handler provider factory manager service store cache map set "
    "list array scheme algorithm alg method mode version ver ref reference alias arn ring board "
    "code codes word words press down up frame chain pair space bits usage usages column table "
    "query scope scopes owner issuer audience aud realm domain vault tree stream izer form "
    "input reset strategy guard middleware module config spec test tests mock model view "
    "component props state action event listener callback hook hooks badge icon img image css "
    "color colour style example docs doc link page flow grant server client user username email "
    "login sha sum checksum fingerprint digest thumbprint request response reader writer parser "
    "lexer iter iterator comparer comparator serializer converter resolver"
)

_WORKING_DIRECTORY = frozenset({"PWD", "OLDPWD", "$PWD", "pwd"})

# Anywhere in a name.
_DENIED = word_set(
    "public pub publishable primary foreign partition sort websocket csrf xsrf cancellation "
    "cancel socket ws oldpwd syntax keyword keyboard identifier translation i18n locale "
    "integrity checksum etag registry hostkey pubkey hash hashes site sitekey recaptcha "
    "analytics measurement tracking gtm cache pagination cursor continuation next prev previous "
    "page sync lookup"
)


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
    return (
        SecretNameKind.QUALIFIED if len(words) > 1 and words[-1] == "key" else SecretNameKind.WEAK
    )


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

    @property
    def is_tight(self) -> bool:
        """Whether the value cannot be an argument of a call in source."""
        return self.separator in {"=", ">"} and self.following not in {",", ")"}


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
        or is_placeholder(value)
        or _is_path_or_public_key(value)
        or is_reference(value)
    ):
        return False
    if context.following in {"(", "["} or _CONSTANT.fullmatch(value):
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
    is_given = context.is_config or context.is_tight
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

_ASSIGNMENT = re.compile(
    r"(?P<rest>(?:[\w.]|-(?!>)){0,50}+)(?:\[\w{0,4}\])?(?P<closing>\\{0,3}[\"'`]?\]?\)?)"
    r"(?P<typed>(?:\s{0,3}:\s{0,2}|[ \t])[&\w<>\[\].'|*?]{1,40}(?=\s{0,2}=[^=>]))?"
    r"(?P<sep>[ \t]{0,60}(?::{1,2}=|=>|->|<-|[!=]==?|\?=|\|\|=?|=|:|%3[Dd]|&equals;)\s{0,60}"
    r"|,[ \t]{0,4}(?=\\{0,3}[\"'`])"
    r"|\(\s{0,20}(?=[bBrRuU@]?\\{0,3}[\"'`])"
    r"|>(?=[^<>\s])"
    r"|\(\)[^\n\"'`]{0,60}\breturn\s{1,3}(?=\\{0,3}[\"'`])"
    r"|\s{1,20}(?:value|content)\s?=\s?(?=\\{0,3}[\"'])"
    r"|,?\s{1,60}\\{0,3}[\"']?(?:value|Value|VALUE)\\{0,3}[\"']?\s{0,3}[:=]\s{0,3}"
    r"|[ \t]{1,8}(?=\\{0,3}[\"'])"
    r"|[ \t]+(?:is|was|to|of|as)?:?[ \t]*(?=[\"'`\\]?[A-Za-z0-9+/_.~-]{8})"
    r"|(?<=[\w\"']) (?:for|of|from|in)[\w .'-]{1,30}[:=]\s?(?=[\"'`\\]?[A-Za-z0-9+/_.~-]{12})"
    r")"
    r"(?:[bBrRuUfFL@$]{0,2}\\{0,3}(?:\"(?P<double>(?:[^\"\n\\]|\\(?!\")[^\n]){1,2500})\\{0,3}\""
    r"|'(?P<single>(?:[^'\n\\]|\\(?!')[^\n]){1,2500})\\{0,3}'"
    r"|`(?P<back>[^`\n\\]{1,500})`)"
    r"|(?P<bare>[^\s\"'`<>(){}\[\],;|\\][^\s\"'`<>(){}\[\],;|\\]{0,500}))"
)

_NAME_BEFORE = re.compile(r"[\w.\-]*\Z")

# What may stand before the name in a line of configuration, also when the line is shown with its
# number, its file or the sign of a patch.
_LINE_HEAD = re.compile(
    r"(?:[\w./@ -]{1,200}:\d+:|[ \t]*\d+[ \t]*(?:\||>>>|:|\t)|[+-](?![+-]))?[ \t>|]*"
    r"(?:#+[ \t]*|//[ \t]*|;[ \t]*|- )?"
    r"(?:(?:export|set|setx|env|ENV|ARG|declare(?: -x)?|SET)[ \t]+"
    r"|-e[ \t]+|--env[ \t=]+|--[a-z-]*|\$env:|Environment=[\"']?)?[\"']?\Z"
)

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
    for group in ("double", "single", "back"):
        if match[group] is not None:
            # A constant: ``#define PASSWORD "..."``, while ``pass `--flag` `` is a sentence.
            is_spoken = not match["sep"].strip() and not text[place].isupper()
            is_secret = is_quoted_secret(kind, match[group], is_prose=is_spoken)
            return SecretSpan(*match.span(group), kind.value) if is_secret else None
    return _check_unquoted_value(text, name_start, match, kind)


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
