"""What a tool is: a name, a description, typed arguments, a permission and a function.

Also the context that it runs in, the outcome that it returns, and the plan that one of them keeps:
a list of tasks with their status, or the decision that no plan is needed.
"""

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Generic, TypeVar

from codekernel.agent.tool_policy import (
    READ_ONLY_POLICY,
    PermissionPolicy,
    ToolError,
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


class TaskStatus(StrEnum):
    """How far a task is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class PlanTask:
    """One step; ``id`` is what the model calls it by, from 1."""

    id: int
    desc: str
    status: TaskStatus = TaskStatus.PENDING

    def __str__(self) -> str:
        return f"[{self.id}] {self.status:12} - {self.desc}"


class Plan:
    """The plan of one agent session; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: tuple[PlanTask, ...] = ()
        self._is_decided = False

    @property
    def is_decided(self) -> bool:
        """Whether a plan was made, or planning skipped on purpose."""
        return self._is_decided

    @property
    def tasks(self) -> tuple[PlanTask, ...]:
        """All tasks, in their order."""
        return self._tasks

    @property
    def unfinished(self) -> tuple[PlanTask, ...]:
        """Tasks that are not completed."""
        return tuple(task for task in self._tasks if task.status is not TaskStatus.COMPLETED)

    def create(self, tasks: Sequence[PlanTask]) -> None:
        """Begin a plan, instead of any there was; ids must differ."""
        ids = [task.id for task in tasks]
        if len(set(ids)) != len(ids):
            raise ToolError("Two tasks have the same id: give each its own.")
        with self._lock:
            self._tasks, self._is_decided = tuple(tasks), True

    def skip(self) -> None:
        """Decide that no plan is needed."""
        with self._lock:
            self._tasks, self._is_decided = (), True

    def update(self, task_id: int, status: TaskStatus) -> PlanTask:
        """Note how far a task is."""
        with self._lock:
            found = next((task for task in self._tasks if task.id == task_id), None)
            if found is None:
                known = ", ".join(str(task.id) for task in self._tasks) or "none"
                raise ToolError(f"There is no task {task_id}; tasks of the plan: {known}.")
            updated = replace(found, status=status)
            self._tasks = tuple(updated if task is found else task for task in self._tasks)
            return updated

    def build_reminder(self) -> str | None:
        """Return a reminder for a model that ends with open tasks; None if all are done."""
        unfinished = self.unfinished
        if not unfinished:
            return None
        lines = "\n".join(f"  {task}" for task in unfinished)
        return f"WARNING: {len(unfinished)} task(s) still incomplete:\n{lines}"


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
