"""plan: the agent's list of tasks, or its decision that it needs none."""

from dataclasses import dataclass
from typing import Annotated, Literal

from kernel.agent.context import ToolContext
from kernel.agent.plan import Plan, Status, Task
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.protocol.tool_arguments import about

MOST_TASKS = 100


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task with an id of its own."""

    desc: Annotated[str, about("what is to be done")]
    id: Annotated[int | None, about("its number; by default its place in the list")] = None
    status: Status = Status.PENDING


@dataclass(frozen=True, slots=True)
class PlanArguments:
    """What happens to the plan."""

    action: Annotated[
        Literal["create", "update", "check", "skip"],
        about("create a plan; update a task; check how far it is; skip planning for a simple task"),
    ]
    tasks: Annotated[
        tuple[str | PlannedTask, ...] | None, about("create: the tasks, in their order")
    ] = None
    task_id: Annotated[int | None, about("update: which task")] = None
    status: Annotated[Status | None, about("update: how far it is")] = None
    reason: Annotated[str | None, about("skip: why no plan is needed")] = None


def _run(arguments: PlanArguments, context: ToolContext) -> Outcome:
    plan = context.plan
    action = {"create": _create, "update": _update, "check": _check, "skip": _skip}
    text = action[arguments.action](plan, arguments)
    tasks = [{"id": each.id, "desc": each.desc, "status": str(each.status)} for each in plan.tasks]
    return done(text, {"tasks": tasks})


def _create(plan: Plan, arguments: PlanArguments) -> str:
    if not arguments.tasks:
        raise ToolFailed("create needs `tasks`: a list of what is to be done.")
    if len(arguments.tasks) > MOST_TASKS:
        raise ToolFailed(f"{len(arguments.tasks)} tasks are too many: {MOST_TASKS} are allowed.")
    plan.create([_task(number, each) for number, each in enumerate(arguments.tasks, start=1)])
    return f"Plan created with {len(plan.tasks)} task(s):\n{_listed(plan)}"


def _update(plan: Plan, arguments: PlanArguments) -> str:
    if arguments.task_id is None or arguments.status is None:
        raise ToolFailed("update needs `task_id` and `status`.")
    task = plan.update(arguments.task_id, arguments.status)
    return f"Task [{task.id}] is now {task.status}: {task.desc}"


def _check(plan: Plan, _: PlanArguments) -> str:
    if not plan.tasks:
        return "Planning was skipped." if plan.is_decided else "There is no plan yet."
    completed = len(plan.tasks) - len(plan.unfinished)
    return f"{completed} of {len(plan.tasks)} task(s) completed:\n{_listed(plan)}"


def _skip(plan: Plan, arguments: PlanArguments) -> str:
    plan.skip()
    return f"Planning skipped: {arguments.reason}" if arguments.reason else "Planning skipped."


def _task(number: int, given: str | PlannedTask) -> Task:
    if isinstance(given, str):
        return Task(number, given)
    return Task(number if given.id is None else given.id, given.desc, given.status)


def _listed(plan: Plan) -> str:
    return "\n".join(f"  {task}" for task in plan.tasks)


TOOL = Tool(
    name="plan",
    purpose=(
        "Manage the plan. Call it first of all: create for a task of several steps, skip for a"
        " simple one. Update a task when it is begun and when it is completed."
    ),
    arguments=PlanArguments,
    danger=Danger.READS,
    run=_run,
)
