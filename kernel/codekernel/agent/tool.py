"""What a tool is: a name, a description, typed arguments, a permission and a function.

Also the context that it runs in, and the outcome that it returns.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from codekernel.agent.plan import Plan
from codekernel.agent.tool_policy import (
    READ_ONLY_POLICY,
    PermissionPolicy,
    ToolLimits,
    ToolPermission,
)
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.agent.workspace.terminals import TerminalPool
from codekernel.agent.workspace.text_file import FileStates
from codekernel.domain.call_graph import QueryCallChain
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit

# What becomes of an edit, by tool, path, text before (None for a new file) and after: the text that
# a person accepts. Raises EditRejected.
ReviewEdit = Callable[[str, str, str | None, str], str]

# The ranked search of the repository: a query, as people type it, and how many hits are wanted.
SearchFunction = Callable[[str, int], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Made once per agent session; the parts that remember something are shared by all calls."""

    root: WorkspaceRoot
    journal: ChangeJournal
    permissions: PermissionPolicy = READ_ONLY_POLICY
    # Of a turn whose edits wait for a person.
    review: ReviewEdit | None = None
    search: SearchFunction | None = None
    call_chain: QueryCallChain | None = None
    limits: ToolLimits = field(default_factory=ToolLimits)
    cancel: CancelToken = field(default_factory=CancelToken)
    file_states: FileStates = field(default_factory=FileStates)
    plan: Plan = field(default_factory=Plan)
    terminals: TerminalPool = field(default_factory=TerminalPool)

    def with_cancel(self, cancel: CancelToken) -> "ToolContext":
        """Return the same context for calls that end when ``cancel`` is set."""
        return dataclasses.replace(self, cancel=cancel)

    def close(self) -> None:
        """End every terminal with all that runs in it."""
        self.terminals.close_all()


A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of a call: ``text`` for the model, ``data`` the same for programs."""

    success: bool
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """One thing that an agent can do.

    ``arguments`` is a frozen dataclass whose docstring describes its fields
    (``protocol/tool_schema.py``). ``run`` may raise ToolError or any other KernelError with a
    sentence for the model, and OSError; Cancelled once ``context.cancel`` is set.
    """

    name: str
    description: str
    arguments: type[A]
    permission: ToolPermission
    run: Callable[[A, ToolContext], ToolOutcome]


def tool(
    name: str, permission: ToolPermission
) -> Callable[[Callable[[A, ToolContext], ToolOutcome]], Tool[A]]:
    """Make a tool of a function; its docstring is the description that is sent to models.

    The type of its first parameter is that of the arguments.
    """

    def build(run: Callable[[A, ToolContext], ToolOutcome]) -> Tool[A]:
        description = " ".join((run.__doc__ or "").split())
        arguments = next(iter(run.__annotations__.values()))
        return Tool(name, description, arguments, permission, run)

    return build


def make_success(text: str, data: Mapping[str, Any] | None = None) -> ToolOutcome:
    """Return the outcome of a call that succeeded."""
    return ToolOutcome(success=True, text=text, data=data or {})


def make_failure(text: str, data: Mapping[str, Any] | None = None) -> ToolOutcome:
    """Return the outcome of a call that failed; ``text`` is the reason."""
    return ToolOutcome(success=False, text=text, data=data or {})
