"""What a tool is: a value with a name, a purpose, typed arguments, a danger, and what it does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from kernel.agent.context import ToolContext
from kernel.agent.danger import Danger
from kernel.agent.failing import ToolFailed

__all__ = ["Danger", "Outcome", "Tool", "ToolContext", "ToolFailed", "done", "failed"]

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call: ``text`` is what a model reads, ``data`` the same for programs."""

    success: bool
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """One thing that an agent can do.

    ``arguments`` is a frozen dataclass whose fields say what they are for (``about`` in
    ``protocol/tool_arguments.py``). ``run`` may raise ToolFailed or any other KernelError with a
    sentence for the model, and OSError; Cancelled once ``context.cancel`` says so.
    """

    name: str
    purpose: str
    arguments: type[A]
    danger: Danger
    run: Callable[[A, ToolContext], Outcome]


def done(text: str, data: Mapping[str, Any] | None = None) -> Outcome:
    """What was asked has been done."""
    return Outcome(success=True, text=text, data=data or {})


def failed(text: str, data: Mapping[str, Any] | None = None) -> Outcome:
    """It has not, and ``text`` says why."""
    return Outcome(success=False, text=text, data=data or {})
