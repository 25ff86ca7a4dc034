"""What an edit of a file must come to, worked out in the plainest way there is.

A file is a list of characters in which a carriage return and the newline after it are one.
"""

import random
import re
from typing import Any

ALPHABET = ["a", "b", "ab", "\n", "\n", " ", "x", "\u00e9", "$&", "\\1", "\r"]
PATTERNS = ["a", "b", "ab", "a\n", "\nb", "x", "\u00e9", "\n", "ba", "nowhere"]
EXPRESSIONS = ["a+", "^", "$", "^b", "a$", "[ab]x?", "(a|b)", "x*", "^.*$", r"\Z", "A", "[", "b\n"]


class Refused(Exception):
    """The edit must fail and leave the file as it is."""


def characters(text: str) -> list[str]:
    return re.findall(r"\r\n|.|\n", text, re.DOTALL)


def own_line_ends(content: str, text: str) -> str:
    pairs = text.count("\r\n")
    singles = text.count("\n") - pairs
    if not pairs and not singles:
        return content
    plain = content.replace("\r\n", "\n")
    return plain.replace("\n", "\r\n") if pairs > singles else plain


def edited(text: str, given: dict[str, Any]) -> str:
    """The text after edit_file; Refused if it must fail."""
    content: str = given.get("content", "")
    if given["mode"] == "overwrite":
        return own_line_ends(content, text)
    if given["mode"] == "append":
        return text + own_line_ends(content, text)
    if given["mode"] == "prepend":
        return own_line_ends(content, text) + text
    governing = text  # the first state that has a line end to go by
    for hunk in given["hunks"]:
        governing = governing if "\n" in governing else text
        text = _after(text, hunk, governing)
    return text


def _after(text: str, hunk: dict[str, Any], governing: str) -> str:
    whole = characters(text)
    seen = "".join("\n" if each == "\r\n" else each for each in whole)
    start, end = _place(seen, hunk)
    start, end = {
        "insert_before": (start, start),
        "insert_after": (end, end),
    }.get(hunk["op"], (start, end))
    content = "" if hunk["op"] == "delete" else hunk["content"]
    return "".join([*whole[:start], own_line_ends(content, governing), *whole[end:]])


def _place(seen: str, hunk: dict[str, Any]) -> tuple[int, int]:
    anchor = hunk["anchor"]
    lines = re.findall(r"[^\n]*\n|[^\n]+\Z", seen)
    first, last = anchor.get("range") or (1, max(1, len(lines)))
    begin = sum(map(len, lines[: first - 1]))
    window = "".join(lines[first - 1 : last])
    expression = anchor["pattern"] if anchor["type"] == "regex" else re.escape(anchor["pattern"])
    try:
        found = [match.span() for match in re.finditer(expression, window, re.MULTILINE)]
    except re.error:
        raise Refused from None
    nth = anchor.get("nth")
    is_last = anchor.get("occurrence") == "last"
    if not found or (nth and nth > len(found)):
        raise Refused
    if hunk.get("must_unique") and len(found) > 1 and not nth and not is_last:
        raise Refused
    start, end = found[nth - 1] if nth else found[-1 if is_last else 0]
    return begin + start, begin + end


def some_text(dice: random.Random) -> str:
    return "".join(dice.choices(ALPHABET, k=dice.randrange(30)))


def some_edit(dice: random.Random) -> dict[str, Any]:
    mode = dice.choice(["overwrite", "append", "prepend", "patch", "patch", "patch", "patch"])
    if mode != "patch":
        return {"mode": mode, "content": some_text(dice)}
    return {"mode": mode, "hunks": [_some_hunk(dice) for _ in range(dice.randint(1, 3))]}


def _some_hunk(dice: random.Random) -> dict[str, Any]:
    kind = dice.choice(["exact", "exact", "regex"])
    pattern = dice.choice(PATTERNS if kind == "exact" else EXPRESSIONS)
    anchor: dict[str, Any] = {"type": kind, "pattern": pattern}
    if dice.random() < 0.2:
        anchor["nth"] = dice.randint(1, 3)
    if dice.random() < 0.2:
        anchor["occurrence"] = dice.choice(["first", "last"])
    if dice.random() < 0.2:
        first = dice.randint(1, 4)
        anchor["range"] = [first, first + dice.randrange(3)]
    op = dice.choice(["replace", "insert_before", "insert_after", "delete"])
    hunk: dict[str, Any] = {"op": op, "anchor": anchor, "content": some_text(dice)}
    if dice.random() < 0.2:
        hunk["must_unique"] = True
    return hunk
