"""An agent's plan: tasks and how far they are, or the decision that none is needed."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from kernel.agent.failing import ToolFailed


class Status(StrEnum):
    """How far a task is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class Task:
    """One step; ``id`` is what the model calls it by, from 1."""

    id: int
    desc: str
    status: Status = Status.PENDING

    def __str__(self) -> str:
        return f"[{self.id}] {self.status:12} - {self.desc}"


class Plan:
    """The plan of one agent session; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: tuple[Task, ...] = ()
        self._decided = False

    @property
    def is_decided(self) -> bool:
        """Whether a plan was made, or planning skipped on purpose."""
        return self._decided

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks, in their order."""
        return self._tasks

    @property
    def unfinished(self) -> tuple[Task, ...]:
        """Tasks that are not completed."""
        return tuple(task for task in self._tasks if task.status is not Status.COMPLETED)

    def create(self, tasks: Sequence[Task]) -> None:
        """Begin a plan, instead of any there was; ids must differ."""
        ids = [task.id for task in tasks]
        if len(set(ids)) != len(ids):
            raise ToolFailed("Two tasks have the same id: give each its own.")
        with self._lock:
            self._tasks, self._decided = tuple(tasks), True

    def skip(self) -> None:
        """Decide that no plan is needed."""
        with self._lock:
            self._tasks, self._decided = (), True

    def update(self, task_id: int, status: Status) -> Task:
        """Note how far a task is."""
        with self._lock:
            found = next((task for task in self._tasks if task.id == task_id), None)
            if found is None:
                known = ", ".join(str(task.id) for task in self._tasks) or "none"
                raise ToolFailed(f"There is no task {task_id}; tasks of the plan: {known}.")
            updated = replace(found, status=status)
            self._tasks = tuple(updated if task is found else task for task in self._tasks)
            return updated

    def reminder(self) -> str | None:
        """What to say to a model that ends with open tasks; None if all are done."""
        unfinished = self.unfinished
        if not unfinished:
            return None
        lines = "\n".join(f"  {task}" for task in unfinished)
        return f"WARNING: {len(unfinished)} task(s) still incomplete:\n{lines}"
