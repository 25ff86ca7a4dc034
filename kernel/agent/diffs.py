"""What an edit changed, as people read it."""

from dataclasses import dataclass

from kernel.domain.hunks import Hunk, structured_patch

_LONGEST_DIFF = 200_000


@dataclass(frozen=True, slots=True)
class Difference:
    """A unified diff and how many lines it adds and takes away."""

    text: str
    added: int
    deleted: int


def difference(path: str, before: str, after: str) -> Difference:
    """Between two texts of one file; the diff of a very large change is cut off."""
    hunks = structured_patch(before, after)
    lines = [line for hunk in hunks for line in hunk.lines]
    text = "".join([f"--- a/{path}\n+++ b/{path}\n", *map(_written, hunks)]) if hunks else ""
    if len(text) > _LONGEST_DIFF:
        text = text[: text.rfind("\n", 0, _LONGEST_DIFF) + 1] + "[... the diff is longer ...]\n"
    added = sum(line.startswith("+") for line in lines)
    return Difference(text, added, sum(line.startswith("-") for line in lines))


def _written(hunk: Hunk) -> str:
    head = (
        f"@@ -{_side(hunk.old_start, hunk.old_lines)} +{_side(hunk.new_start, hunk.new_lines)} @@"
    )
    body = "".join(f"{line}\n" for line in hunk.lines)
    return f"{head}\n{body}"


def _side(start: int, lines: int) -> str:
    """A side with no lines begins after the line before it, as diff says it."""
    return f"{start},{lines}" if lines else f"{start - 1},0"
