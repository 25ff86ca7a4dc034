import pytest
from codekernel.domain.chat import ChatMessage, ChatRequest, ChatToolCall, Role
from codekernel.llm.providers.base import EndpointCapabilities
from codekernel.llm.providers.openai import OpenAiProvider, merge_user_messages


def said(role: Role, content: str) -> ChatMessage:
    return ChatMessage(role, content)


def test_what_a_person_said_in_a_row_is_sent_as_one_message() -> None:
    request = ChatRequest(
        (
            said(Role.SYSTEM, "Be brief."),
            said(Role.USER, "The edit was taken back."),
            said(Role.USER, "Try again."),
            said(Role.ASSISTANT, "Done."),
            said(Role.USER, "Thanks."),
        )
    )

    sent = OpenAiProvider().build_payload("model", request, EndpointCapabilities())["messages"]

    assert [(one["role"], one["content"]) for one in sent] == [
        ("system", "Be brief."),
        ("user", "The edit was taken back.\n\nTry again."),
        ("assistant", "Done."),
        ("user", "Thanks."),
    ]


@pytest.mark.parametrize("role", [Role.ASSISTANT, Role.TOOL, Role.SYSTEM])
def test_messages_of_others_stay_apart(role: Role) -> None:
    pair = [said(role, "one"), said(role, "two")]

    assert merge_user_messages(pair) == pair


def test_calls_and_their_results_are_left_as_they_are() -> None:
    call = ChatMessage(Role.ASSISTANT, "", (ChatToolCall("1", "read_file", "{}"),))
    result = ChatMessage(Role.TOOL, "text", (), "1")

    assert merge_user_messages([said(Role.USER, "a"), call, result]) == [
        said(Role.USER, "a"),
        call,
        result,
    ]
