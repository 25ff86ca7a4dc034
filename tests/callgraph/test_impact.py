"""What a change reaches: each caller once, by its shortest way, and tests apart."""

from codekernel.callgraph.impact import compute_impact
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


def is_test(path: str) -> bool:
    return path.startswith("test")


def test_the_shortest_way_counts_and_tests_are_apart() -> None:
    far = node("far", "b.py")
    tested = node("test_it", "test_a.py")
    impact = compute_impact(
        [
            answer("x", step(node("near", "b.py", 5), step(far, step(tested)))),
            answer("y", step(far), behind=2),
        ],
        is_test,
    )
    assert [place.name for place in impact.changed] == ["x", "y"]
    assert [(each.place.name, each.distance) for each in impact.callers] == [
        ("far", 1),
        ("near", 1),
    ]
    assert [(each.place.name, each.distance) for each in impact.tests] == [("test_it", 3)]
    assert impact.behind == 2


def test_what_changes_itself_is_no_caller_and_what_was_left_out_is_counted() -> None:
    impact = compute_impact([answer("x", step(node("x"), more=3))], is_test)
    assert (impact.callers, impact.left_out) == ((), 3)
