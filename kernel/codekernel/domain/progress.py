"""How work that is waited for tells how far it is."""

from collections.abc import Callable

# Called with what is done, the total if it is known, and a message.
ProgressCallback = Callable[[float, float | None, str], None]


def ignore_progress(_done: float, _total: float | None, _message: str) -> None:
    """Ignore progress that was not requested."""
