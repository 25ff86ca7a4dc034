"""Tokens recognised by their shape: read the rules from token_rules.tsv.

Prefixes, alphabets and lengths are as published; where a vendor has lengthened a format before, the
length is a minimum.
"""

from collections.abc import Iterator
from pathlib import Path

from codekernel.masking.rules import MaskRule, is_random

# Not inside a longer word; but behind an escaped line end or a character in percent encoding.
EDGE = r"(?:(?<![A-Za-z0-9_])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=\\[nrt]))"

END = r"(?![A-Za-z0-9])"

UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"


def _read_token_rules() -> Iterator[MaskRule]:
    table = Path(__file__).with_suffix(".tsv").read_text("utf-8")
    for line in table.splitlines()[1:]:
        kind, keywords, min_entropy, min_run, accepts, pattern = line.split("\t")
        for name, text in (("{EDGE}", EDGE), ("{END}", END), ("{UUID}", UUID)):
            pattern = pattern.replace(name, text)
        yield MaskRule(
            kind,
            tuple(keywords.split()),
            pattern,
            float(min_entropy),
            is_random if accepts == "random" else None,
            int(min_run),
        )


TOKEN_RULES = tuple(_read_token_rules())
