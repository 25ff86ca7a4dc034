"""A value that is not known, refused with the known ones that are spelt nearly the same."""

from collections.abc import Iterable
from itertools import islice

from kernel.domain.path_text import encode_path
from kernel.errors import WrongParam

MAX_NEAR = 4
MIN_SIMILARITY = 0.6
# Comparing a value with one name takes some microseconds.
MAX_COMPARED_NAMES = 50_000


def refusal(what: str, value: str, known: Iterable[str]) -> WrongParam:
    """What to raise: a sentence about the value, and the near ones."""
    import difflib  # noqa: PLC0415 - seldom needed, and every search would wait for it

    by_small: dict[str, str] = {}
    for name in islice(known, MAX_COMPARED_NAMES):
        by_small.setdefault(name.lower(), name)
    near = difflib.get_close_matches(value.lower(), by_small, MAX_NEAR, MIN_SIMILARITY)
    shown = ", ".join(encode_path(by_small[name]) for name in near)
    return WrongParam(f"{what}; near: {shown}" if near else f"{what}, nor anything like it")
