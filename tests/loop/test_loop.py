import pytest
from codekernel.domain.chat import ChatMessage, ChatRequest, Role, TextDelta
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.turn import TokenUsage
from codekernel.domain.turn_events import ModelRequestSent, ModelTextReceived, TokensCounted
from codekernel.errors import NetworkError
from codekernel.loop.loop import ModelCall, ModelCallEvent, RequestMeter
from codekernel.loop.text_tool_parser import NativeReplyParser
from support.conversation_world import ScriptedModel, reply_text

MESSAGES = (ChatMessage(Role.SYSTEM, "rules"), ChatMessage(Role.USER, "do it"))


def start(
    model: ScriptedModel, *added: ChatMessage, meter: RequestMeter | None = None
) -> ModelCall:
    request = ChatRequest((*MESSAGES, *added))
    return ModelCall(model, request, NativeReplyParser([]), CancelToken(), meter or RequestMeter())


def first_event(call: ModelCall) -> ModelCallEvent:
    return next(iter(list(call.run())))


def test_a_request_its_text_and_its_tokens_are_reported() -> None:
    assert list(start(ScriptedModel([reply_text("Yes", ".", used=(10, 2))])).run()) == [
        ModelRequestSent("rules\ndo it"),
        ModelTextReceived("Yes"),
        TextDelta("Yes"),
        ModelTextReceived("."),
        TextDelta("."),
        TokensCounted(TokenUsage(10, 2, exact=True)),
    ]


def test_a_longer_request_reports_what_was_added_to_the_previous_one() -> None:
    model, meter = (
        ScriptedModel([reply_text("a"), reply_text("b"), reply_text("c")]),
        RequestMeter(),
    )
    added = (ChatMessage(Role.ASSISTANT, "a"), ChatMessage(Role.TOOL, "result"))
    assert first_event(start(model, meter=meter)) == ModelRequestSent("rules\ndo it")
    assert first_event(start(model, *added, meter=meter)) == ModelRequestSent("result", 15)
    other = ModelCall(model, ChatRequest(MESSAGES[1:]), NativeReplyParser([]), CancelToken(), meter)
    assert first_event(other) == ModelRequestSent("do it")


def test_a_request_that_fails_has_cost_nothing_and_says_so() -> None:
    model = ScriptedModel([[TextDelta("a"), NetworkError("gone")]])
    events: list[ModelCallEvent] = []

    def collect() -> None:
        for event in start(model).run():
            events.append(event)  # noqa: PERF402 - what came before the error counts

    with pytest.raises(NetworkError):
        collect()
    assert events[-1] == TokensCounted(TokenUsage())
