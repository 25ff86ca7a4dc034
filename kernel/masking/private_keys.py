"""Keys of many lines: PEM, PGP, SSH, PuTTY, Ansible vaults; also when a chunk holds only a part."""

import re
from collections.abc import Iterator

from kernel.masking.randomness import entropy_bits, is_encoded_text
from kernel.masking.rules import Rule, Span

# A line may be shown with its number, or quoted in source.
_HEAD = r"(?:[ \t]*\d{1,7}[ \t]*(?:\||>>>|:)[ \t]*|[+-](?![+-]))?[ \t\"'#*+>/]{0,40}+"
_TAIL = r"[ \t\"',+;\\]{0,8}(?:\\[nr]){0,2}[\"'+, \\]{0,4}\r?"

PRIVATE_KEY_RULES = (
    Rule(
        "private key",
        ("private key",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?!-----(?:BEGIN|END))[\s\S]){0,20000}-----END [A-Z0-9 ]{0,40}-----",
    ),
    Rule(
        "private key",  # its end lies in another chunk
        ("private key",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^\n]*"
        rf"(?:\n{_HEAD}(?:[A-Za-z0-9+/=]{{1,100}}+|[A-Z][A-Za-z-]{{1,30}}: [^\n]*|){_TAIL}(?=\n"
        rf"|\Z))*",
    ),
    Rule(
        "private key",  # its beginning lies in another chunk
        ("private key",),
        rf"\A(?:{_HEAD}[A-Za-z0-9+/=]{{1,100}}+{_TAIL}\n){{0,400}}"
        rf"{_HEAD}-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----",
    ),
    Rule(
        "private key",
        ("begin%20", "begin+"),
        r"-----BEGIN(?:%20|\+)[A-Z0-9%+]{0,60}PRIVATE(?:%20|\+)KEY[A-Za-z0-9%+/=_-]{20,20000}",
    ),
    Rule(
        "private key",  # a PEM in base64, as in a kubeconfig; certificates and public keys are none
        ("ls0tls1crudjt",),
        r"LS0tLS1CRUdJTiB(?!DRVJU|QVUJMSUMg)[A-Za-z0-9+/]{40,20000}={0,2}",
    ),
    Rule(
        "private key",
        ("putty-user-key-file", "private-lines"),
        r"^[ \t]*Private-Lines: \d{1,4}\r?\n(?P<secret>(?:[ \t]*[A-Za-z0-9+/=]{1,100}\r?(?:\n"
        r"|\Z)){1,400})",
    ),
    Rule("private key", ("private-mac",), r"^[ \t]*Private-MAC: (?P<secret>[0-9a-f]{40,64})"),
    Rule(
        "private key",
        ('"kty"', '\\"kty', "'kty'"),
        r"\\?[\"'](?:d|p|q|dp|dq|qi|k)\\?[\"']\s{0,3}:\s{0,3}\\?[\"']"
        r"(?P<secret>[A-Za-z0-9_-]{20,2000})",
    ),
    Rule(
        "vault",
        ("$ansible_vault;",),
        r"\$ANSIBLE_VAULT;[^\n]{0,60}(?P<secret>(?:\r?\n[ \t]*[0-9a-f]{6,100}(?=\r?\n|\Z"
        r"|[ \t])){1,2000})",
    ),
)

# The middle of a key, between two chunks, with line numbers or without: 64 characters a line, 70 in
# the format of OpenSSH. Images and mail have 76.
_MATERIAL = re.compile(
    r"(?:^(?:[ \t]*\d{1,7}[ \t]*(?:\||>>>))?[ \t\"']*(?:[A-Za-z0-9+/]{64}"
    r"|[A-Za-z0-9+/]{70})[ \t\"',\\n]*\r?\n){3,}",
    re.MULTILINE,
)
_PUBLIC = re.compile(r"-----BEGIN (?![A-Z0-9 ]{0,40}PRIVATE)[A-Z0-9 ]{1,40}-----")
_LINE = re.compile(r"[A-Za-z0-9+/]{64,70}")
MIN_MATERIAL_CHARACTERS = 60
# Of six bits per character; data that repeats has less.
MIN_MATERIAL_BITS = 5.2


def scan_key_material(text: str) -> Iterator[Span]:
    """Yield lines of base64 that may be the middle of a key: no certificate, no encoded text."""
    for match in _MATERIAL.finditer(text):
        lines = "".join(_LINE.findall(match[0]))
        if entropy_bits(lines) < MIN_MATERIAL_BITS or is_encoded_text(lines):
            continue
        before = _PUBLIC.split(text[: match.start()])
        if len(before) > 1 and "-----END" not in before[-1]:
            continue
        yield Span(*match.span(), "key material")
