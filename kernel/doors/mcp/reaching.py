"""How far something is, as it is told while it is under way; and what is said of an index."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from kernel.domain.index_status import ConfigStatus, IndexStatus

# So much is done, of so much if that is known, and what it is about.
Report = Callable[[float, float | None, str], None]

# Whose vectors are this complete is found by meaning as well as anything.
COMPLETE_SHARE = 0.9


def NOBODY_LISTENS(_done: float, _whole: float | None, _about: str) -> None:  # noqa: N802 - a value
    """For work whose progress nobody asked for."""


def said_of(status: IndexStatus, *, meaning: bool = True, is_first: bool = True) -> str:
    """A sentence about what is missing; nothing if the index is complete.

    Without ``meaning``, for somebody who does not use the vectors; ``is_first`` while there was no
    index before.
    """
    if status.trouble:
        return f"The index is in trouble: {status.trouble}"
    if status.state in {"starting", "recovering", "indexing"}:
        if not is_first:
            return "The index is being brought up to date; what has just changed may be missing."
        return f"The index is being made: {status.files} files so far. Ask again for the rest."
    if status.state == "paused":
        return "Indexing is paused, so what has changed since is missing."
    return _said_of_meaning(status) if meaning else ""


def _said_of_meaning(status: IndexStatus) -> str:
    if status.state == "read-only":
        return "Another codekernel keeps this index; here it is searched by words, as it is there."
    late = [one.name for one in status.configs if _is_late(one)]
    if late:
        return f"Meaning is still being indexed ({', '.join(late)}); so far hits are by words."
    return ""


def shown(status: IndexStatus, root: str, remark: str) -> str:
    """The whole status, for a model."""
    lines = [
        f"Repository: {root}",
        f"State: {status.state}",
        f"Files: {status.files} indexed, {status.files_waiting} under way",
        f"Chunks: {status.chunks}",
    ]
    for one in status.configs:
        left = "" if one.seconds_left is None else f", about {one.seconds_left:.0f} s left"
        trouble = f" ({one.trouble})" if one.trouble else ""
        lines.append(f"Vectors of {one.name}: {one.waiting} chunks waiting{left}{trouble}")
    if status.refused:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(status.refused.items()))
        lines.append(f"Left out: {reasons}")
    return "\n".join([*lines, remark] if remark else lines)


def described(status: IndexStatus, root: str) -> dict[str, Any]:
    """The same as data."""
    return {"root": root, **asdict(status)}


def _is_late(one: ConfigStatus) -> bool:
    return bool(one.trouble) or not one.ready or one.waiting > (1 - COMPLETE_SHARE) * one.chunks
