"""Read the rules of rule_files/*.txt.

A rule is a head line and a pattern. The head has fields separated by tabs: the kind, the keywords
(separated by blanks; a blank in a keyword is written as U+2423), and options: min_entropy, min_run,
accepts. The pattern follows in indented lines, which are joined; {NAME} is replaced by MACROS.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from codekernel.masking import credentials
from codekernel.masking.rules import MaskRule

_ASSIGNED_HEAD = r"(?:[ \t]*\d{1,7}[ \t]*(?:\||>>>|:)[ \t]*|[+-](?![+-]))?"

MACROS = {
    # Not inside a longer word; but behind an escaped line end or a character in percent encoding.
    "EDGE": r"(?:(?<![A-Za-z0-9_])|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=\\[nrt]))",
    "END": r"(?![A-Za-z0-9])",
    "UUID": r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    # A line may be shown with its number, or quoted in source.
    "HEAD": _ASSIGNED_HEAD + r"[ \t\"'#*+>/]{0,40}+",
    "TAIL": r"[ \t\"',+;\\]{0,8}(?:\\[nr]){0,2}[\"'+, \\]{0,4}\r?",
    "B64": r"[A-Za-z0-9+/_-]{8,4000}={0,2}",
    "OPEN": r"\s{0,3}(?:[:=,]|=>|%3A)(?:\s|%20|\+){0,3}\\?[\"'`]?",
}

_MACRO = re.compile(r"\{([A-Z]\w+)\}")

_FOLDER = Path(__file__).with_suffix("")


def read_rules(name: str) -> Iterator[MaskRule]:
    """Yield the rules of a file."""
    head, pattern = "", ""
    for line in [*(_FOLDER / f"{name}.txt").read_text("utf-8").split("\n"), ""]:
        if line.startswith("    "):
            pattern += line[4:]
        elif not line.startswith("#"):
            if head:
                yield _build_rule(head, pattern)
            head, pattern = line, ""


def _build_rule(head: str, pattern: str) -> MaskRule:
    kind, keywords, *fields = head.split("\t")
    options = dict(field.split("=") for field in fields)
    return MaskRule(
        kind,
        tuple(keyword.replace("␣", " ") for keyword in keywords.split(" ")),
        _MACRO.sub(lambda match: MACROS[match[1]], pattern),
        float(options.get("min_entropy", 0)),
        getattr(credentials, options["accepts"]) if "accepts" in options else None,
        int(options.get("min_run", 0)),
    )
