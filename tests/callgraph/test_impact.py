"""What a change reaches: each caller once, by its shortest way."""

from codekernel.callgraph.impact import join_callers
from codekernel.domain.call_graph import (
    CallChainNode,
    CallChainQuery,
    CallChainResult,
    CallChainStep,
    CallChainSteps,
    DefinitionCallChain,
)


def node(name: str, path: str = "a.py", line: int = 1) -> CallChainNode:
    return CallChainNode(name, "function", path, line, line)


def step(place: CallChainNode, *following: CallChainStep, more: int = 0) -> CallChainStep:
    return CallChainStep(place, "certain", (1,), CallChainSteps(following, more))


def answer(name: str, *steps: CallChainStep, behind: int = 0) -> CallChainResult:
    chain = DefinitionCallChain(node(name), CallChainSteps(steps), None)
    return CallChainResult(CallChainQuery(name), (chain,), behind=behind)


def test_the_shortest_way_counts_and_users_are_one_call_away() -> None:
    far = node("far", "b.py")
    tested = node("test_it", "test_a.py")
    reached = join_callers(
        [
            answer("x", step(node("near", "b.py", 5), step(far, step(tested)))),
            answer("y", step(far), behind=2),
        ],
        [answer("user", step(node("caller", "c.py")))],
    )
    assert [place.name for place in reached.changed] == ["x", "y"]
    assert [(each.place.name, each.distance) for each in reached.callers] == [
        ("user", 1),
        ("far", 1),
        ("near", 1),
        ("caller", 2),
        ("test_it", 3),
    ]
    assert reached.behind == 2


def test_what_changes_itself_is_no_caller_and_what_was_left_out_is_counted() -> None:
    reached = join_callers([answer("x", step(node("x"), more=3))])
    assert (reached.callers, reached.left_out) == ((), 3)
