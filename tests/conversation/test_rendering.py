from hypothesis import given
from hypothesis import strategies as st

from kernel.conversation.budget import Budget, budget_for, shortened
from kernel.conversation.prompts import numbered, system_prompt
from kernel.conversation.rendering import Readable, Rendered, Step, Story, rendered
from kernel.domain.chat import ChatMessage, Role, ToolCall

PAST = (ChatMessage(Role.USER, "before"), ChatMessage(Role.ASSISTANT, "answer"))
CALL = ToolCall("c1", "search", "{}")
STEPS = (
    Step(("why",), (Readable("one", 1), Readable("two")), ours=True),
    Step(("more",), (Readable("three", 2),), "Partly.", (CALL, ToolCall("c2", "search", "{}"))),
)
STORY = Story("files-x", "why", PAST, STEPS)


def words(text: str) -> int:
    return len(text.split())


def tell(story: Story, *, tools: bool, may_search: bool, tokens: int = 10_000) -> Rendered:
    return rendered(story, Budget(tokens, words), tools=tools, may_search=may_search)


def test_a_model_with_tools_sees_its_calls_and_their_answers() -> None:
    messages = tell(STORY, tools=True, may_search=True).messages
    assert [message.role for message in messages] == [
        Role.SYSTEM,
        Role.USER,
        Role.ASSISTANT,
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
        Role.TOOL,
    ]
    assert "one\n\ntwo" in messages[3].content
    assert messages[4].tool_calls == STEPS[1].calls
    assert "three" in messages[5].content
    assert [message.tool_call_id for message in messages[5:]] == ["c1", "c2"]


def test_a_model_without_tools_sees_its_search_blocks() -> None:
    messages = tell(STORY, tools=False, may_search=True).messages
    assert messages[4].content == "Partly.\n\n```search\nmore\n```"
    assert messages[5].role is Role.USER
    assert not any(message.tool_calls for message in messages)


def test_a_model_that_has_to_answer_sees_everything_at_once_and_no_way_to_search() -> None:
    messages = tell(STORY, tools=True, may_search=False).messages
    assert all(text in messages[3].content for text in ("one", "two", "three"))
    assert messages[4].content == "Partly."
    assert "`search`" not in messages[0].content
    assert "```search" not in messages[0].content


def test_secrets_are_counted_only_in_what_is_sent() -> None:
    assert tell(STORY, tools=True, may_search=True).masked == 3
    assert tell(STORY, tools=True, may_search=True, tokens=1).masked == 0


@given(st.lists(st.lists(st.integers(1, 300), max_size=6), max_size=4), st.integers(400, 2000))
def test_excerpts_fit_the_budget_and_the_best_of_each_round_stay(
    rounds: list[list[int]], tokens: int
) -> None:
    steps = tuple(
        Step((str(number),), tuple(Readable("word " * size) for size in sizes))
        for number, sizes in enumerate(rounds)
    )
    story = rendered(
        Story("f", "why", (), steps), Budget(tokens, words), tools=True, may_search=True
    )
    system = words(system_prompt("f", tools=True, may_search=True))
    read = sum(words(message.content) for message in story.messages)
    # Fences, blocks and notes around the excerpts are a few words each.
    assert read <= max(tokens, system + 1) + 20 * (len(steps) + 1)


def test_texts_that_fit_by_their_bytes_are_not_even_counted() -> None:
    def never(text: str) -> int:
        raise AssertionError(text)

    assert Budget(100, never).chosen(["ten"], ["words"], [0]) == {0}


def test_a_refused_window_shrinks_to_what_the_model_says_or_to_half() -> None:
    sent = ["word " * 1000]
    assert shortened(Budget(9000, words), sent, None).tokens == 504
    assert shortened(Budget(9000, words), sent, 400).tokens == 300
    assert shortened(Budget(9000, words), sent, 8000).tokens == 504
    assert budget_for(8000, words).tokens == 6000
    assert budget_for(None, words).tokens == 28_672


def test_lines_are_numbered_as_people_count_them() -> None:
    assert numbered("a.py", 9, "x\ny\n", "Session>close") == (
        "a.py:9-10 (Session>close)\n    9 | x\n   10 | y"
    )


def test_a_secret_in_the_question_or_in_an_earlier_turn_is_masked_and_counted() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    past = (ChatMessage(Role.USER, f"is {secret} ours?"), ChatMessage(Role.ASSISTANT, "yes"))
    story = Story("files-x", f"who uses {secret}", past, STEPS)
    for tools, may_search in ((True, True), (False, True), (True, False)):
        told = tell(story, tools=tools, may_search=may_search)
        assert all(secret not in message.content for message in told.messages)
        assert told.masked == 5
