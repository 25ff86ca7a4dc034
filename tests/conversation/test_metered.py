"""What a metered model tells of its requests."""

import pytest
from support.conversation_world import ScriptedModel, said

from kernel.conversation.metered import Metered
from kernel.domain.cancel import CancelToken
from kernel.domain.chat import ChatMessage, ChatRequest, Role, TextDelta
from kernel.domain.turn import Spent
from kernel.domain.turn_events import Counted, Received, Sent
from kernel.errors import NetworkError

ASKED = (ChatMessage(Role.SYSTEM, "rules"), ChatMessage(Role.USER, "do it"))


def ask(model: Metered, *more: ChatMessage) -> None:
    for _ in model.stream(ChatRequest((*ASKED, *more)), CancelToken()):
        pass


def test_a_request_its_words_and_its_cost_are_told() -> None:
    told: list[object] = []
    ask(Metered(ScriptedModel([said("Yes", ".", used=(10, 2))]), told.append))
    assert told == [
        Sent("rules\ndo it"),
        Received("Yes"),
        Received("."),
        Counted(Spent(10, 2, exact=True)),
    ]


def test_a_longer_request_tells_what_was_added_to_the_last() -> None:
    told: list[object] = []
    model = Metered(ScriptedModel([said("a"), said("b"), said("c")]), told.append)
    added = (ChatMessage(Role.ASSISTANT, "a"), ChatMessage(Role.TOOL, "result"))
    ask(model)
    ask(model, *added)
    assert [event for event in told if isinstance(event, Sent)][1] == Sent("result", 15)
    for _ in model.stream(ChatRequest((ASKED[1],)), CancelToken()):
        pass
    assert [event for event in told if isinstance(event, Sent)][2] == Sent("do it")


def test_a_request_that_fails_has_cost_nothing_and_says_so() -> None:
    told: list[object] = []
    model = Metered(ScriptedModel([[TextDelta("a"), NetworkError("gone")]]), told.append)
    with pytest.raises(NetworkError):
        ask(model)
    assert told[-1] == Counted(Spent())
