"""What tools may do: the permissions they need and the policies that grant them.

Time and size limits, and the error of a failed call.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from codekernel.errors import KernelError


class ToolError(KernelError):
    """A failed call that changed nothing; the model reads the message, so it names the remedy."""

    def __init__(self, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.data: Mapping[str, Any] = data or {}


@contextmanager
def translate_os_errors(path: str) -> Iterator[None]:
    """Raise a ToolError for an OSError: what was refused, without folders outside the root."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ToolError(f"{path}: {reason[:1].lower()}{reason[1:]}") from error


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """Seconds and sizes, one set for all tools of a context."""

    # For looking through files; a command has its own.
    timeout_seconds: float = 20.0
    command_timeout_seconds: float = 120.0
    # A command may ask for more than that, up to here.
    max_command_timeout_seconds: float = 3_600.0
    # The most text of one result; a longer file is read in windows.
    max_output_characters: int = 1_000_000
    # Of the output of a command or a terminal, the end is kept.
    max_command_characters: int = 60_000
    # Files that are larger are neither loaded nor edited.
    max_file_bytes: int = 32 * 1024 * 1024
    max_matches: int = 2_000
    max_terminals: int = 16


class ToolPermission(StrEnum):
    """The worst that a tool does; each is allowed by itself."""

    READS = "reads"
    WRITES = "writes"  # makes and changes files
    DELETES = "deletes"
    RUNS = "runs"  # commands, and so anything


@dataclass(frozen=True, slots=True)
class ToolPermissionRequest:
    """A call that waits for permission; ``arguments`` as the model wrote them, for display."""

    tool: str
    permission: ToolPermission
    arguments: object
    # The edit that waits, with as many hunks as can be accepted one by one.
    diff: str = ""


@dataclass(frozen=True, slots=True)
class PermissionReply:
    """What a person says; ``hunks`` are those of an edit that are accepted, None for all."""

    allowed: bool
    hunks: tuple[int, ...] | None = None


class PermissionPolicy(Protocol):
    """Decides on calls; safe to use from several threads."""

    def get_refusal(self, request: ToolPermissionRequest) -> str | None:
        """Return why a call is refused, for the model; None if it is allowed."""


@dataclass(frozen=True, slots=True)
class AllowListPolicy:
    """Grants a fixed set of permissions and refuses the others."""

    allowed: Collection[ToolPermission]

    def get_refusal(self, request: ToolPermissionRequest) -> str | None:
        """Return the refusal of a permission that is not in the set."""
        if request.permission in self.allowed:
            return None
        return f"{request.tool} is not allowed here: it {request.permission}. Go on without it."


@dataclass(frozen=True, slots=True)
class AskUserPolicy:
    """Grants a fixed set of permissions and asks the user for the others each time."""

    allowed: Collection[ToolPermission]
    ask: Callable[[ToolPermissionRequest], bool]

    def get_refusal(self, request: ToolPermissionRequest) -> str | None:
        """Return the refusal if the user does not allow the call."""
        if request.permission in self.allowed or self.ask(request):
            return None
        return f"The person did not allow {request.tool}. Do not try again; ask what to do instead."


READ_ONLY_POLICY = AllowListPolicy((ToolPermission.READS,))

# An agent is started to edit files; permission for anything beyond that is asked for.
DEFAULT_ALLOWED_PERMISSIONS = (ToolPermission.READS, ToolPermission.WRITES)

ALLOW_ALL_POLICY = AllowListPolicy(tuple(ToolPermission))
