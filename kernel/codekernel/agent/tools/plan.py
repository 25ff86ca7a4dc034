"""plan: create, update, check or skip the agent's list of tasks."""

from dataclasses import asdict, dataclass
from typing import Literal

from codekernel.agent.tool import (
    Plan,
    PlanTask,
    TaskStatus,
    ToolContext,
    ToolOutcome,
    make_success,
    tool,
)
from codekernel.agent.tool_policy import ToolError, ToolPermission

MAX_TASKS = 100


@dataclass(frozen=True, slots=True)
class PlanTaskArgument:
    """A task with an id of its own.

    desc: what is to be done
    id: its number; by default its place in the list
    """

    desc: str
    id: int | None = None
    status: TaskStatus = TaskStatus.PENDING


@dataclass(frozen=True, slots=True)
class PlanArguments:
    """What happens to the plan.

    action: create a plan; update a task; check how far it is; skip planning for a simple task
    tasks: create: the tasks, in their order
    task_id: update: which task
    status: update: how far it is
    reason: skip: why no plan is needed
    """

    action: Literal["create", "update", "check", "skip"]
    tasks: tuple[str | PlanTaskArgument, ...] | None = None
    task_id: int | None = None
    status: TaskStatus | None = None
    reason: str | None = None


@tool("plan", ToolPermission.READS)
def plan(arguments: PlanArguments, context: ToolContext) -> ToolOutcome:
    """Manage the plan.

    Call it first of all: create for a task of several steps, skip for a simple one. Update a
    task when it is begun and when it is completed.
    """
    plan = context.plan
    action = {
        "create": _create_plan,
        "update": _update_task,
        "check": _describe_progress,
        "skip": _skip_plan,
    }
    text = action[arguments.action](plan, arguments)
    return make_success(text, {"tasks": [asdict(task) for task in plan.tasks]})


def _create_plan(plan: Plan, arguments: PlanArguments) -> str:
    if not arguments.tasks:
        raise ToolError("create needs `tasks`: a list of what is to be done.")
    if len(arguments.tasks) > MAX_TASKS:
        raise ToolError(f"{len(arguments.tasks)} tasks are too many: {MAX_TASKS} are allowed.")
    plan.create([_build_task(number, each) for number, each in enumerate(arguments.tasks, start=1)])
    return f"Plan created with {len(plan.tasks)} task(s):\n{_format_tasks(plan)}"


def _update_task(plan: Plan, arguments: PlanArguments) -> str:
    if arguments.task_id is None or arguments.status is None:
        raise ToolError("update needs `task_id` and `status`.")
    task = plan.update(arguments.task_id, arguments.status)
    return f"Task [{task.id}] is now {task.status}: {task.desc}"


def _describe_progress(plan: Plan, _: PlanArguments) -> str:
    if not plan.tasks:
        return "Planning was skipped." if plan.is_decided else "There is no plan yet."
    completed = len(plan.tasks) - len(plan.unfinished)
    return f"{completed} of {len(plan.tasks)} task(s) completed:\n{_format_tasks(plan)}"


def _skip_plan(plan: Plan, arguments: PlanArguments) -> str:
    plan.skip()
    return f"Planning skipped: {arguments.reason}" if arguments.reason else "Planning skipped."


def _build_task(number: int, given: str | PlanTaskArgument) -> PlanTask:
    if isinstance(given, str):
        return PlanTask(number, given)
    return PlanTask(number if given.id is None else given.id, given.desc, given.status)


def _format_tasks(plan: Plan) -> str:
    return "\n".join(f"  {task}" for task in plan.tasks)
