"""Checks whether a value is a credential or an example; Secret manifests of Kubernetes."""

import base64
import binascii
import re
from collections.abc import Iterator

from codekernel.masking.rules import SecretSpan, is_placeholder, is_random, is_wordlike

MIN_TOKEN_CHARACTERS = 16

# Shorter ones are those of examples.
MIN_LOGIN_CHARACTERS = 6

_EXAMPLE_WORD = re.compile(
    r"(?i)pass|pwd|secret|token|user|login|admin|test|foo|bar|auth|key|cred|word"
)


def is_login_secret(value: str) -> bool:
    """Return whether what stands in the place of a password is one, rather than an example."""
    if len(value) < MIN_LOGIN_CHARACTERS or value.isdigit() or is_placeholder(value):
        return False
    if value.startswith(("$", "/", "http")):
        return False
    if re.match(r"--?[a-z]", value):
        return False
    if any(map(str.isdigit, value)) or not value.replace("-", "").replace("_", "").isalnum():
        return not (_EXAMPLE_WORD.search(value) and is_wordlike(value))
    return not is_wordlike(value)


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


_SECRET_KIND = re.compile(r"\bkind\\?[\"']?:[ \t]*\\?[\"']?Secret\b")

_LINE_NUMBER_HEAD = r"(?:[ \t]*\d{1,7}[ \t]*(?:\||>>>)[ \t]*|[+-](?![+-]))?"

_DATA_BLOCK = re.compile(
    rf"^{_LINE_NUMBER_HEAD}(?P<indent>[ \t]*)(?P<which>data|stringData):[ \t]*\r?\n"
    rf"(?P<lines>(?:{_LINE_NUMBER_HEAD}(?P=indent)[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\r?\n)*)",
    re.MULTILINE,
)

_DATA_ENTRY = re.compile(
    rf"^{_LINE_NUMBER_HEAD}[ \t]*[\w.\"'-]+:[ \t]*[\"']?(?P<value>[^\s\"'|>][^\s\"']*)",
    re.MULTILINE,
)

_JSON_BLOCK = re.compile(r"\"(?:data|stringData)\"\s{0,4}:\s{0,4}\{(?P<lines>[^{}]{1,20000})\}")

_JSON_ENTRY = re.compile(r"\"[\w.-]{1,200}\"\s{0,4}:\s{0,4}\"(?P<value>[^\"\n]{1,8000})\"")

MIN_KUBERNETES_VALUE_CHARACTERS = 4


def scan_kubernetes_secrets(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield the values of every Secret in a manifest."""
    if "kind" not in lowered or not _SECRET_KIND.search(text):
        return
    for block_pattern, entry in ((_DATA_BLOCK, _DATA_ENTRY), (_JSON_BLOCK, _JSON_ENTRY)):
        for block in block_pattern.finditer(text):
            for match in entry.finditer(text, *block.span("lines")):
                value = match["value"]
                if len(value) < MIN_KUBERNETES_VALUE_CHARACTERS or is_placeholder(value):
                    continue
                if is_encoded_secret(value):
                    yield SecretSpan(*match.span("value"), "secret")
