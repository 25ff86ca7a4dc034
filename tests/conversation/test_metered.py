"""What a metered model tells of its requests."""

import pytest
from codekernel.domain.chat import ChatMessage, ChatRequest, Role, TextDelta
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.turn import TokenUsage
from codekernel.domain.turn_events import ModelRequestSent, ModelTextReceived, TokensCounted
from codekernel.errors import NetworkError
from codekernel.loop.model_call import MeteredBackend
from support.conversation_world import ScriptedModel, said

ASKED = (ChatMessage(Role.SYSTEM, "rules"), ChatMessage(Role.USER, "do it"))


def ask(model: MeteredBackend, *more: ChatMessage) -> None:
    for _ in model.stream(ChatRequest((*ASKED, *more)), CancelToken()):
        pass


def test_a_request_its_words_and_its_cost_are_told() -> None:
    told: list[object] = []
    ask(MeteredBackend(ScriptedModel([said("Yes", ".", used=(10, 2))]), told.append))
    assert told == [
        ModelRequestSent("rules\ndo it"),
        ModelTextReceived("Yes"),
        ModelTextReceived("."),
        TokensCounted(TokenUsage(10, 2, exact=True)),
    ]


def test_a_longer_request_tells_what_was_added_to_the_last() -> None:
    told: list[object] = []
    model = MeteredBackend(ScriptedModel([said("a"), said("b"), said("c")]), told.append)
    added = (ChatMessage(Role.ASSISTANT, "a"), ChatMessage(Role.TOOL, "result"))
    ask(model)
    ask(model, *added)
    assert [event for event in told if isinstance(event, ModelRequestSent)][1] == ModelRequestSent(
        "result", 15
    )
    for _ in model.stream(ChatRequest((ASKED[1],)), CancelToken()):
        pass
    assert [event for event in told if isinstance(event, ModelRequestSent)][2] == ModelRequestSent(
        "do it"
    )


def test_a_request_that_fails_has_cost_nothing_and_says_so() -> None:
    told: list[object] = []
    model = MeteredBackend(ScriptedModel([[TextDelta("a"), NetworkError("gone")]]), told.append)
    with pytest.raises(NetworkError):
        ask(model)
    assert told[-1] == TokensCounted(TokenUsage())
