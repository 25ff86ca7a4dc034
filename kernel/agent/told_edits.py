"""What the editing tools of document 000 tell of a file: its whole path and how many lines."""

import os
from collections.abc import Sequence

from kernel.agent.root import Root
from kernel.domain.hunks import Hunk


def whole_path(root: Root, path: str) -> str:
    """A path as it was given, made absolute where it was relative."""
    if os.path.isabs(path):  # noqa: PTH117 - the text is what is told, not where it leads
        return path
    return os.path.normpath(os.path.join(root.folder, path))  # noqa: PTH118 - the same


def counted(hunks: Sequence[Hunk]) -> str:
    """How many lines came and went, for a model."""
    lines = [line for hunk in hunks for line in hunk.lines]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return f"+{added} -{removed} lines"
