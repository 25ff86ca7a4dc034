import json

import pytest
from codekernel.agent.transcript import Transcript, convert_to_text_messages, fit_to_budget
from codekernel.domain.chat import ChatMessage, ChatToolCall, Role
from codekernel.loop.loop import TokenBudget
from hypothesis import given, settings
from hypothesis import strategies as st

TASK = "the task"


def transcript(rounds: list[tuple[int, int, int]]) -> Transcript:
    """Rounds of two calls each: sizes of the text, the arguments and the results."""
    made = Transcript()
    made.add_user_message(TASK)
    for number, (said, argument, result) in enumerate(rounds):
        given = json.dumps({"content": "c" * argument})
        calls = tuple(ChatToolCall(f"{number}.{each}", "tool", given) for each in (0, 1))
        made.add_reply("s" * said, calls)
        for call in calls:
            made.add_tool_result(call, "r " * (result // 2), 10**9)
    return made


def size(messages: list[ChatMessage]) -> int:
    return sum(
        len(it.content) + sum(len(call.arguments) + 1 for call in it.tool_calls) + 8
        for it in messages
    )


sizes = st.integers(0, 6_000)


@settings(deadline=None)
@given(st.lists(st.tuples(sizes, sizes, sizes), max_size=12), st.integers(20_000, 120_000))
def test_what_is_left_fits_and_every_call_has_its_answer(
    rounds: list[tuple[int, int, int]], tokens: int
) -> None:
    messages = transcript(rounds).messages
    kept = fit_to_budget(messages, ["system"], TokenBudget(tokens, len))
    assert size(kept) <= tokens
    assert kept[0] == ChatMessage(Role.USER, TASK)
    calls = [call.id for message in kept for call in message.tool_calls]
    assert [message.tool_call_id for message in kept if message.role is Role.TOOL] == calls
    for message in kept:
        for call in message.tool_calls:
            json.loads(call.arguments)
    if size(messages) + 100 < tokens:
        assert kept == messages


@settings(deadline=None)
@given(st.lists(st.tuples(sizes, sizes, sizes), min_size=3, max_size=12))
def test_the_newest_results_are_shortened_last(rounds: list[tuple[int, int, int]]) -> None:
    messages = transcript(rounds).messages
    kept = fit_to_budget(messages, [], TokenBudget(size(messages) * 9 // 10, len))
    shortened = [a is not b for a, b in zip(kept, messages, strict=False)]
    if len(kept) == len(messages) and any(shortened[-3:]):
        old = [it for it in kept[1:-3] if it.role is Role.TOOL]
        assert all(len(it.content) < 500 for it in old)


def test_a_second_fitting_changes_nothing() -> None:
    messages = transcript([(100, 100, 5_000)] * 8).messages
    budget = TokenBudget(40_000, len)
    once = fit_to_budget(messages, [], budget)
    assert once != messages
    assert fit_to_budget(once, [], budget) == once


def test_rounds_are_forgotten_by_more_than_was_needed_so_that_the_next_ones_fit() -> None:
    made = transcript([(100, 100, 100)] * 50)
    budget = TokenBudget(size(made.messages) - 100, len)
    kept = fit_to_budget(made.messages, [], budget)
    assert size(kept) <= budget.max_tokens * 0.7
    more = [*kept, *transcript([(100, 100, 100)] * 5).messages[1:]]
    assert fit_to_budget(more, [], budget) == more


def test_a_long_result_loses_its_middle() -> None:
    made = Transcript()
    made.add_tool_result(ChatToolCall("1", "tool", "{}"), "a" * 5_000 + "b" * 5_000, 3_000)
    content = made.messages[0].content
    assert content.startswith("a" * 2_000)
    assert content.endswith("b" * 1_000)
    assert "7000 characters left out" in content


def test_results_are_user_messages_for_a_model_without_tools() -> None:
    messages = convert_to_text_messages(transcript([(3, 3, 4)]).messages)
    assert [message.role for message in messages] == [Role.USER, Role.ASSISTANT, Role.USER]
    assert messages[1].content.count("```tool\n") == 2
    assert messages[2].content.count("Result of tool:") == 2
    assert not any(message.tool_calls or message.tool_call_id for message in messages)


SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
CALL = ChatToolCall("1", "read_file", "{}")


def test_a_secret_in_a_task_is_masked_and_counted() -> None:
    transcript = Transcript()
    transcript.add_user_message(f"Why does {SECRET} not work?")
    assert transcript.messages[0].content == "Why does [masked: GitHub token] not work?"
    assert transcript.secret_count == 1


@pytest.mark.parametrize("shift", range(0, len(SECRET), 7))
def test_half_a_key_at_a_cut_is_not_sent(shift: int) -> None:
    longest = 3_000
    for place in (longest * 2 // 3 - shift, 20_000 - longest // 3 - shift):
        text = "word " * 4_000
        text = text[:place] + SECRET + text[place + len(SECRET) :]
        transcript = Transcript()
        transcript.add_tool_result(CALL, text, longest)
        messages = transcript.messages[0].content
        assert not any(SECRET[at : at + 8] in messages for at in range(len(SECRET) - 8))
        assert f"{len(text) - longest} characters left out" in messages
