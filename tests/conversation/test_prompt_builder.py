from collections.abc import Generator
from typing import Any

from codekernel.conversation.prompt_builder import (
    MAX_SUMMARY_CHARS,
    PastContext,
    PromptExcerpt,
    PromptRound,
    PromptState,
    RenderedPrompt,
    TurnSummarizer,
    build_answer_prompt,
    format_numbered_excerpt,
    render_prompt,
    select_past_turns,
)
from codekernel.domain.chat import ChatMessage, ChatToolCall, Role
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.turn import PastTurn
from codekernel.domain.turn_events import TokensCounted
from codekernel.errors import NetworkError
from codekernel.loop.loop import TokenBudget, make_token_budget, shrink_token_budget
from hypothesis import given
from hypothesis import strategies as st
from support.conversation_world import ScriptedModel, reply_text

PAST = (ChatMessage(Role.USER, "before"), ChatMessage(Role.ASSISTANT, "answer"))
CALL = ChatToolCall("c1", "search", "{}")
ROUNDS = (
    PromptRound(("why",), (PromptExcerpt("one", 1), PromptExcerpt("two")), is_initial=True),
    PromptRound(
        ("more",),
        (PromptExcerpt("three", 2),),
        "Partly.",
        (CALL, ChatToolCall("c2", "search", "{}")),
    ),
)
STATE = PromptState("files-x", "why", PAST, ROUNDS)


def count_words(text: str) -> int:
    return len(text.split())


def render(
    state: PromptState, *, tools: bool, may_search: bool, tokens: int = 10_000
) -> RenderedPrompt:
    return render_prompt(
        state, TokenBudget(tokens, count_words), tools=tools, may_search=may_search
    )


def test_a_model_with_tools_sees_its_calls_and_their_answers() -> None:
    messages = render(STATE, tools=True, may_search=True).messages
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
    assert messages[4].tool_calls == ROUNDS[1].tool_calls
    assert "three" in messages[5].content
    assert [message.tool_call_id for message in messages[5:]] == ["c1", "c2"]


def test_a_model_without_tools_sees_its_search_blocks() -> None:
    messages = render(STATE, tools=False, may_search=True).messages
    assert messages[4].content == "Partly.\n\n```search\nmore\n```"
    assert messages[5].role is Role.USER
    assert not any(message.tool_calls for message in messages)


def test_a_model_that_has_to_answer_sees_everything_at_once_and_no_way_to_search() -> None:
    messages = render(STATE, tools=True, may_search=False).messages
    assert all(text in messages[3].content for text in ("one", "two", "three"))
    assert messages[4].content == "Partly."
    assert "`search`" not in messages[0].content
    assert "```search" not in messages[0].content


def test_secrets_are_counted_only_in_what_is_sent() -> None:
    assert render(STATE, tools=True, may_search=True).masked_count == 3
    assert render(STATE, tools=True, may_search=True, tokens=1).masked_count == 0


@given(st.lists(st.lists(st.integers(1, 300), max_size=6), max_size=4), st.integers(400, 2000))
def test_excerpts_fit_the_budget_and_the_best_of_each_round_stay(
    rounds: list[list[int]], tokens: int
) -> None:
    steps = tuple(
        PromptRound((str(number),), tuple(PromptExcerpt("word " * size) for size in sizes))
        for number, sizes in enumerate(rounds)
    )
    state = render_prompt(
        PromptState("f", "why", (), steps),
        TokenBudget(tokens, count_words),
        tools=True,
        may_search=True,
    )
    system = count_words(build_answer_prompt("f", tools=True, may_search=True))
    read = sum(count_words(message.content) for message in state.messages)
    # Fences, blocks and notes around the excerpts are a few count_words each.
    assert read <= max(tokens, system + 1) + 20 * (len(steps) + 1)


def test_texts_that_fit_by_their_bytes_are_not_even_counted() -> None:
    def never(text: str) -> int:
        raise AssertionError(text)

    assert TokenBudget(100, never).select_fitting(["ten"], ["count_words"], [0]) == {0}


def test_a_refused_window_shrinks_to_what_the_model_says_or_to_half() -> None:
    sent = ["word " * 1000]
    assert shrink_token_budget(TokenBudget(9000, count_words), sent, None).max_tokens == 504
    assert shrink_token_budget(TokenBudget(9000, count_words), sent, 400).max_tokens == 300
    assert shrink_token_budget(TokenBudget(9000, count_words), sent, 8000).max_tokens == 504
    assert make_token_budget(8000, count_words).max_tokens == 6000
    assert make_token_budget(None, count_words).max_tokens == 28_672


def test_lines_are_numbered_as_people_count_them() -> None:
    assert format_numbered_excerpt("a.py", 9, "x\ny\n", "Session>close") == (
        "a.py:9-10 (Session>close)\n    9 | x\n   10 | y"
    )


def test_a_secret_in_the_question_or_in_an_earlier_turn_is_masked_and_counted() -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    past = (ChatMessage(Role.USER, f"is {secret} ours?"), ChatMessage(Role.ASSISTANT, "yes"))
    state = PromptState("files-x", f"who uses {secret}", past, ROUNDS)
    for tools, may_search in ((True, True), (False, True), (True, False)):
        rendered = render(state, tools=tools, may_search=may_search)
        assert all(secret not in message.content for message in rendered.messages)
        assert rendered.masked_count == 5


def run_to_end(events: Generator[Any, None, PastContext]) -> tuple[PastContext, list[Any]]:
    seen: list[Any] = []
    try:
        while True:
            seen.append(next(events))
    except StopIteration as end:
        return end.value, seen


texts = st.text(max_size=60)


@given(st.lists(st.builds(PastTurn, query=texts, answer=texts), max_size=8), st.integers(1, 200))
def test_whole_turns_are_given_newest_first_and_never_too_many_characters(
    turns: list[PastTurn], limit: int
) -> None:
    memory, _ = run_to_end(select_past_turns(turns, limit))
    assert sum(len(message.content) for message in memory.messages) <= limit
    given_back = [message.content for message in memory.messages]
    answered = [turn for turn in turns if turn.answer]
    kept = answered[len(answered) - len(given_back) // 2 :]
    assert given_back == [text for turn in kept for text in (turn.query, turn.answer)]
    rest = answered[: len(answered) - len(kept)]
    if rest:
        assert len(rest[-1].query) + len(rest[-1].answer) > limit - sum(map(len, given_back))


def test_without_a_limit_everything_is_given() -> None:
    turns = [PastTurn("q" * 1000, "a" * 1000)] * 5
    memory, _ = run_to_end(select_past_turns(turns, 0))
    assert [message.role for message in memory.messages] == [Role.USER, Role.ASSISTANT] * 5


def test_a_turn_that_is_too_long_is_summarised_once_and_counted() -> None:
    model = ScriptedModel([reply_text("It was about closing.", used=(300, 8))])
    turns = [PastTurn("old", "x" * 900), PastTurn("new", "short")]
    memory, events = run_to_end(select_past_turns(turns, 500, TurnSummarizer(model, CancelToken())))
    assert [message.content for message in memory.messages][1:] == [
        "It was about closing.",
        "new",
        "short",
    ]
    assert memory.summaries == {0: "It was about closing."}
    assert [event.spent.input_tokens for event in events if isinstance(event, TokensCounted)] == [
        300
    ]
    kept = [PastTurn("old", "x" * 900, summary="It was about closing."), turns[1]]
    again, events = run_to_end(
        select_past_turns(kept, 500, TurnSummarizer(ScriptedModel([]), CancelToken()))
    )
    assert again.messages == memory.messages
    assert events == []


def test_a_summary_that_cannot_be_had_or_does_not_fit_ends_the_memory() -> None:
    turns = [PastTurn("old", "x" * 900)]
    failing = ScriptedModel([[NetworkError("down")]])
    memory, _ = run_to_end(select_past_turns(turns, 500, TurnSummarizer(failing, CancelToken())))
    assert memory == PastContext((), {})
    wordy = ScriptedModel([reply_text("y" * 5000)])
    memory, _ = run_to_end(select_past_turns(turns, 100, TurnSummarizer(wordy, CancelToken())))
    assert memory.messages == ()
    assert memory.summaries == {0: "y" * MAX_SUMMARY_CHARS}
