"""The agent's plan: a list of tasks with their status, or the decision that no plan is needed."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from codekernel.agent.tool_policy import ToolError


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
