"""How a tool says that it could not do what was asked."""

from collections.abc import Mapping
from typing import Any

from kernel.errors import KernelError


class ToolFailed(KernelError):
    """The sentence is what the model reads, so it says what to do; nothing has been changed."""

    def __init__(self, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.data: Mapping[str, Any] = data or {}


def said_by_system(error: OSError, path: str) -> str:
    """What the operating system refused, without the names of folders outside the root."""
    reason = error.strerror or type(error).__name__
    return f"{path}: {reason[:1].lower()}{reason[1:]}"
