"""Secrets recognised by context: private keys (PEM, PGP, SSH, PuTTY, Ansible vault.

Also when a chunk holds only a part), and keys named by the service or address beside them.
"""

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
from codekernel.masking.token_rules import EDGE, END

# A line may be shown with its number, or quoted in source.
_HEAD = r"(?:[ \t]*\d{1,7}[ \t]*(?:\||>>>|:)[ \t]*|[+-](?![+-]))?[ \t\"'#*+>/]{0,40}+"

_TAIL = r"[ \t\"',+;\\]{0,8}(?:\\[nr]){0,2}[\"'+, \\]{0,4}\r?"

PRIVATE_KEY_RULES = (
    MaskRule(
        "private key",
        ("private key",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?!-----(?:BEGIN|END))[\s\S]){0,20000}-----END [A-Z0-9 ]{0,40}-----",
    ),
    MaskRule(
        "private key",  # its end lies in another chunk
        ("private key",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^\n]*"
        rf"(?:\n{_HEAD}(?:[A-Za-z0-9+/=]{{1,100}}+|[A-Z][A-Za-z-]{{1,30}}: [^\n]*|){_TAIL}(?=\n"
        rf"|\Z))*",
    ),
    MaskRule(
        "private key",  # its beginning lies in another chunk
        ("private key",),
        rf"\A(?:{_HEAD}[A-Za-z0-9+/=]{{1,100}}+{_TAIL}\n){{0,400}}"
        rf"{_HEAD}-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----",
    ),
    MaskRule(
        "private key",
        ("begin%20", "begin+"),
        r"-----BEGIN(?:%20|\+)[A-Z0-9%+]{0,60}PRIVATE(?:%20|\+)KEY[A-Za-z0-9%+/=_-]{20,20000}",
    ),
    MaskRule(
        "private key",  # a PEM in base64, as in a kubeconfig; certificates and public keys are none
        ("ls0tls1crudjt",),
        r"LS0tLS1CRUdJTiB(?!DRVJU|QVUJMSUMg)[A-Za-z0-9+/]{40,20000}={0,2}",
    ),
    MaskRule(
        "private key",
        ("putty-user-key-file", "private-lines"),
        r"^[ \t]*Private-Lines: \d{1,4}\r?\n(?P<secret>(?:[ \t]*[A-Za-z0-9+/=]{1,100}\r?(?:\n"
        r"|\Z)){1,400})",
    ),
    MaskRule("private key", ("private-mac",), r"^[ \t]*Private-MAC: (?P<secret>[0-9a-f]{40,64})"),
    MaskRule(
        "private key",
        ('"kty"', '\\"kty', "'kty'"),
        r"\\?[\"'](?:d|p|q|dp|dq|qi|k)\\?[\"']\s{0,3}:\s{0,3}\\?[\"']"
        r"(?P<secret>[A-Za-z0-9_-]{20,2000})",
    ),
    MaskRule(
        "vault",
        ("$ansible_vault;",),
        r"\$ANSIBLE_VAULT;[^\n]{0,60}(?P<secret>(?:\r?\n[ \t]*[0-9a-f]{6,100}(?=\r?\n|\Z"
        r"|[ \t])){1,2000})",
    ),
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

CONTEXT_RULES = (
    MaskRule("Dropbox token", ("dropbox",), rf"{EDGE}[A-Za-z0-9]{{11}}A{{10}}[A-Za-z0-9_=-]{{43}}"),
    MaskRule(
        "AWS secret",
        ("aws", "amazon", "secretaccesskey", "secret_access_key", "secretkey"),
        r"(?i:aws|amazon|secret_?access_?key|secret_?key)[\w. \"'\\\]-]{0,40}"
        r"(?:=>|:=|[:=,>(]|%3D)\s{0,4}[\\\"']{0,2}"
        r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        3.5,
    ),
    MaskRule(
        "Azure key",
        ("key", "sharedaccess", "azure", "secret"),
        r"(?i:key|sharedaccess|azure|secret)[^\n]{0,60}?(?<![A-Za-z0-9+/])"
        r"(?P<secret>[A-Za-z0-9+/]{86}(?:==|%3[Dd]%3[Dd]))",
        4.5,
    ),
    MaskRule(
        "shared access signature",
        ("sig=", "sig%3d"),
        r"(?<![A-Za-z0-9])[Ss]ig(?:=|%3[Dd])(?P<secret>[A-Za-z0-9%+/_-]{36,200}(?:=|%3[Dd]){0,2})",
        3.5,
    ),
    MaskRule(
        "Vault token",
        ("vault",),
        r"(?i:vault)[\w \"':=./-]{0,60}?(?<![\w.])(?P<secret>[sbr]\.[A-Za-z0-9]{24,120})"
        r"(?![\w.])",
        3.3,
    ),
    MaskRule(
        "webhook",
        ("hooks.", "webhook", "powerautomate", "logic.azure"),
        r"https?(?::|%3A)(?:\\?/|%2F){2}(?:hooks\.slack\.com(?:\\?/|%2F)(?:services|workflows"
        r"|triggers)(?:\\?/|%2F)"
        r"|(?:[a-z]{1,10}\.)?discord(?:app)?\.com(?:\\?/|%2F)api(?:\\?/|%2F)(?:v\d+(?:\\?/"
        r"|%2F))?webhooks(?:\\?/|%2F)"
        r"|hooks\.zapier\.com(?:\\?/|%2F)hooks(?:\\?/|%2F)catch(?:\\?/|%2F)"
        r"|[\w-]{1,60}\.webhook\.office\.com(?:\\?/|%2F)webhookb2(?:\\?/|%2F)"
        r"|outlook\.office\.com(?:\\?/|%2F)webhook(?:\\?/|%2F)"
        r"|chat\.googleapis\.com(?:\\?/|%2F)v1(?:\\?/|%2F)spaces(?:\\?/|%2F)"
        r"|[\w-]{1,60}\.tines\.com(?:\\?/|%2F)webhook(?:\\?/|%2F)"
        r"|open\.(?:feishu\.cn|larksuite\.com)(?:\\?/|%2F)open-apis(?:\\?/|%2F)bot(?:\\?/|%2F)v2"
        r"(?:\\?/|%2F)hook(?:\\?/|%2F)"
        r"|[\w.-]{1,80}\.logic\.azure\.com(?::443)?(?:\\?/|%2F)workflows(?:\\?/|%2F))"
        r"(?P<secret>[^\s\"'<>`)\\]{16,400})",
        2.8,
    ),
    MaskRule(
        "DingTalk token",
        ("access_token=",),
        r"oapi\.dingtalk\.com/robot/send\?access_token=(?P<secret>[a-f0-9]{64})",
    ),
    MaskRule(
        "Vonage or Plivo key",
        ("plivo",),
        r"(?i:plivo)[^\n]{0,40}?(?<![A-Z0-9])(?P<secret>MA[A-Z0-9]{18})(?![A-Z0-9])",
    ),
    MaskRule(
        "Twitter token",
        ("twitter", "access"),
        r"(?<![\w-])\d{15,25}-[A-Za-z0-9]{30,45}(?![\w-])",
        4.0,
    ),
    MaskRule("Twitch token", ("oauth:",), rf"{EDGE}oauth:(?P<secret>[a-z0-9]{{30}}){END}"),
    MaskRule("Okta token", ("okta", "ssws"), r"(?<![\w-])00[A-Za-z0-9_-]{40}(?![\w-])", 4.0),
    MaskRule(
        "Sidekiq credentials",
        ("contribsys",),
        r"(?i:contribsys__com)[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?P<secret>[a-f0-9]{8}:[a-f0-9]{8})",
    ),
)
