"""The values of a Kubernetes Secret, whose names say nothing: everything under ``data``."""

import re
from collections.abc import Iterator

from kernel.masking.placeholders import is_placeholder
from kernel.masking.rules import Span
from kernel.masking.syntax_rules import is_encoded_secret

_KIND = re.compile(r"\bkind\\?[\"']?:[ \t]*\\?[\"']?Secret\b")
_HEAD = r"(?:[ \t]*\d{1,7}[ \t]*(?:\||>>>)[ \t]*|[+-](?![+-]))?"
_BLOCK = re.compile(
    rf"^{_HEAD}(?P<indent>[ \t]*)(?P<which>data|stringData):[ \t]*\r?\n"
    rf"(?P<lines>(?:{_HEAD}(?P=indent)[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\r?\n)*)",
    re.MULTILINE,
)
_ENTRY = re.compile(
    rf"^{_HEAD}[ \t]*[\w.\"'-]+:[ \t]*[\"']?(?P<value>[^\s\"'|>][^\s\"']*)", re.MULTILINE
)
_JSON_BLOCK = re.compile(r"\"(?:data|stringData)\"\s{0,4}:\s{0,4}\{(?P<lines>[^{}]{1,20000})\}")
_JSON_ENTRY = re.compile(r"\"[\w.-]{1,200}\"\s{0,4}:\s{0,4}\"(?P<value>[^\"\n]{1,8000})\"")
MIN_VALUE_CHARACTERS = 4


def scan_kubernetes(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values of every Secret in a manifest."""
    if "kind" not in lowered or not _KIND.search(text):
        return
    for block_pattern, entry in ((_BLOCK, _ENTRY), (_JSON_BLOCK, _JSON_ENTRY)):
        for block in block_pattern.finditer(text):
            for match in entry.finditer(text, *block.span("lines")):
                value = match["value"]
                if len(value) < MIN_VALUE_CHARACTERS or is_placeholder(value):
                    continue
                if is_encoded_secret(value):
                    yield Span(*match.span("value"), "secret")
