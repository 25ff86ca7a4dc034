"""Lines with their numbers beside them, as document 002 shows them; the sought ones are marked."""

from collections.abc import Collection, Sequence

MARK, PLAIN = " >>> ", " |   "


def numbered(lines: Sequence[str], first: int, marked: Collection[int] = ()) -> str:
    """Lines from number ``first`` on, one per row."""
    return "\n".join(
        f"{number:4d}{MARK if number in marked else PLAIN}{line}"
        for number, line in enumerate(lines, start=first)
    )
