from collections.abc import Generator
from typing import Any

from codekernel.conversation.prompt_builder import (
    MAX_SUMMARY_CHARS,
    PastContext,
    TurnSummarizer,
    select_past_turns,
)
from codekernel.domain.chat import Role
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.turn import PastTurn
from codekernel.domain.turn_events import TokensCounted
from codekernel.errors import NetworkError
from hypothesis import given
from hypothesis import strategies as st
from support.conversation_world import ScriptedModel, said


def run(events: Generator[Any, None, PastContext]) -> tuple[PastContext, list[Any]]:
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
    memory, _ = run(select_past_turns(turns, limit))
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
    memory, _ = run(select_past_turns(turns, 0))
    assert [message.role for message in memory.messages] == [Role.USER, Role.ASSISTANT] * 5


def test_a_turn_that_is_too_long_is_summarised_once_and_counted() -> None:
    model = ScriptedModel([said("It was about closing.", used=(300, 8))])
    turns = [PastTurn("old", "x" * 900), PastTurn("new", "short")]
    memory, events = run(select_past_turns(turns, 500, TurnSummarizer(model, CancelToken())))
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
    again, events = run(
        select_past_turns(kept, 500, TurnSummarizer(ScriptedModel([]), CancelToken()))
    )
    assert again.messages == memory.messages
    assert events == []


def test_a_summary_that_cannot_be_had_or_does_not_fit_ends_the_memory() -> None:
    turns = [PastTurn("old", "x" * 900)]
    failing = ScriptedModel([[NetworkError("down")]])
    memory, _ = run(select_past_turns(turns, 500, TurnSummarizer(failing, CancelToken())))
    assert memory == PastContext((), {})
    wordy = ScriptedModel([said("y" * 5000)])
    memory, _ = run(select_past_turns(turns, 100, TurnSummarizer(wordy, CancelToken())))
    assert memory.messages == ()
    assert memory.summaries == {0: "y" * MAX_SUMMARY_CHARS}
