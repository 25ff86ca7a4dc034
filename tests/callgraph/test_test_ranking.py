"""Which tests come first: near by calls, rare words in common, named after what changes."""

from codekernel.callgraph.test_ranking import (
    ChangedText,
    RankedTest,
    ReachedDefinition,
    TestCode,
    explain_test,
    find_nearest_calls,
    join_callers,
    rank_tests,
)
from codekernel.domain.call_graph import (
    CallChainNode,
    CallChainQuery,
    CallChainResult,
    CallChainStep,
    CallChainSteps,
    DefinitionCallChain,
)

CHANGED = ChangedText(
    frozenset({"parse_retry_after"}),
    frozenset({"http/retry.py"}),
    "def parse_retry_after(value):\n    return int(value)",
)


def make_test(name: str, text: str, path: str = "tests/test_client.py", line: int = 1) -> TestCode:
    last = line + text.count("\n")
    return TestCode(CallChainNode(name, "function", path, line, last), text)


def reach(name: str, path: str, line: int, distance: int) -> ReachedDefinition:
    return ReachedDefinition(CallChainNode(name, "function", path, line, line), distance, "certain")


def name_all(ranked: list[RankedTest]) -> list[str]:
    return [each.place.name for each in ranked]


def test_a_test_that_names_what_changes_comes_before_one_that_only_reaches_it() -> None:
    tests = [
        make_test("test_far", "    client.get()", line=1),
        make_test("test_header", "    assert parse_retry_after('1') == 1", line=10),
        make_test("test_other", "    assert client.close()", line=20),
    ]
    reached = [
        reach("test_far", "tests/test_client.py", 1, 3),
        reach("test_header", "tests/test_client.py", 10, 1),
    ]
    strong, weak = rank_tests(tests, CHANGED, reached)
    assert name_all(strong) == ["test_header"]
    assert name_all(weak) == ["test_far"]
    assert (strong[0].distance, strong[0].reasons) == (1, ("names parse_retry_after",))


def test_a_file_named_after_the_changed_one_speaks_for_its_tests() -> None:
    tests = [
        make_test("test_one", "    run()", "tests/test_client.py"),
        make_test("test_two", "    run()", "tests/test_retry.py"),
    ]
    strong, _ = rank_tests(tests, CHANGED, [])
    assert [(each.place.name, each.reasons) for each in strong] == [
        ("test_two", ("file of the same name",))
    ]


def test_a_fixture_brings_what_it_calls_to_the_tests_that_name_it() -> None:
    test = make_test("test_it", "def test_it(session):\n    session.get()", line=10)
    other = make_test("test_more", "def test_more():\n    pass", line=20)
    fixture = reach("session", "tests/conftest.py", 3, 1)
    nearest = find_nearest_calls([test, other], [fixture])
    assert {place.name: call.distance for place, call in nearest.items()} == {"test_it": 2}


def test_what_is_reached_inside_of_a_test_is_its_own() -> None:
    test = make_test("test_it", "def test_it():\n    def handler():\n        pass", line=10)
    nearest = find_nearest_calls([test], [reach("test_it.handler", "tests/test_client.py", 11, 2)])
    assert [call.distance for call in nearest.values()] == [2]


def test_without_any_evidence_there_is_no_test() -> None:
    assert rank_tests([make_test("test_it", "    pass")], CHANGED, []) == ([], [])
    assert rank_tests([], CHANGED, []) == ([], [])


def test_what_speaks_for_a_test_is_said_in_a_few_words() -> None:
    assert explain_test(1, "certain", ()) == "1 call away"
    assert explain_test(2, "likely", ("names x",)) == "2 calls away, likely, names x"
    assert explain_test(0, "", ()) == "similar words"


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
