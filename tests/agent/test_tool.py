import pytest
from agent.calling import Call
from codekernel.agent.tool import ToolContext


@pytest.mark.parametrize(
    "tasks",
    [
        ["Read configuration file", "Update settings"],
        [
            {"id": 1, "desc": "Read configuration file"},
            {"id": 2, "desc": "Update settings"},
        ],
        [{"desc": "Read configuration file"}, "Update settings"],
    ],
)
def test_tasks_are_texts_or_objects(tasks: list[object], context: ToolContext, call: Call) -> None:
    assert call("plan", action="create", tasks=tasks).success
    assert [(task.id, task.desc) for task in context.plan.tasks] == [
        (1, "Read configuration file"),
        (2, "Update settings"),
    ]


def test_the_reminder_is_that_of_document_001(context: ToolContext, call: Call) -> None:
    assert not context.plan.is_decided
    call("plan", action="create", tasks=["Read configuration file", "Update settings", "Test"])
    call("plan", action="update", task_id=2, status="in_progress")
    call("plan", action="update", task_id=3, status="completed")
    assert context.plan.build_reminder() == (
        "WARNING: 2 task(s) still incomplete:\n"
        "  [1] pending      - Read configuration file\n"
        "  [2] in_progress  - Update settings"
    )
    assert "1 of 3 task(s) completed" in call("plan", action="check").text
    for task in (1, 2):
        call("plan", action="update", task_id=task, status="completed")
    assert context.plan.build_reminder() is None


def test_skipping_is_a_decision_too(context: ToolContext, call: Call) -> None:
    assert call("plan", action="check").text == "There is no plan yet."
    assert call("plan", action="skip", reason="one step").text == "Planning skipped: one step"
    assert context.plan.is_decided
    assert context.plan.build_reminder() is None


@pytest.mark.parametrize(
    "given",
    [
        {"action": "create"},
        {"action": "create", "tasks": []},
        {"action": "create", "tasks": [{"id": 1, "desc": "a"}, {"id": 1, "desc": "b"}]},
        {"action": "create", "tasks": ["x"] * 101},
        {"action": "create", "tasks": [7]},
        {"action": "update", "task_id": 1, "status": "completed"},
        {"action": "update", "task_id": 1},
        {"action": "update", "task_id": 1, "status": "abandoned"},
        {"action": "destroy"},
        {},
    ],
)
def test_what_is_no_plan_is_refused_and_nothing_decided(
    given: dict[str, object], context: ToolContext, call: Call
) -> None:
    assert not call("plan", **given).success
    assert not context.plan.is_decided
