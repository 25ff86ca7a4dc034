"""No message of any request leaves with a secret in it."""

import json

from codekernel.domain.chat import ChatMessage, ChatRequest, ChatToolCall, Role
from codekernel.domain.settings import GenerationModel
from codekernel.llm.backends import open_remote_backend
from codekernel.llm.remote_backend import RemoteBackend
from codekernel.llm.request_masking import mask_request

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


def test_every_message_but_our_own_rules_is_masked() -> None:
    request = ChatRequest(
        (
            ChatMessage(Role.SYSTEM, "Rules: [masked: ...] stands for a secret."),
            ChatMessage(Role.USER, f"Why is {SECRET} refused?"),
            ChatMessage(Role.ASSISTANT, f"You wrote {SECRET}."),
            ChatMessage(Role.TOOL, f"keys/{SECRET}.txt:1-1\n    1 | x", tool_call_id="1"),
        )
    )
    sent = mask_request(request)
    assert sent.messages[0] == request.messages[0]
    assert all(SECRET not in message.content for message in sent.messages)
    assert [message.role for message in sent.messages] == [one.role for one in request.messages]
    assert mask_request(sent) == sent


def test_arguments_that_are_told_again_stay_json() -> None:
    password = "x9Kq2" + "mZ7pLw"
    given = {"path": "a.env", "content": f'A="1"\nDB_PASSWORD={password}\n', "password": password}
    calls = (
        ChatToolCall(
            "1", "edit_file", json.dumps({**given, "more": [f"Bearer {SECRET}", 3, None]})
        ),
        ChatToolCall("2", "read_file", '{"path": "a.py"}'),
        ChatToolCall("3", "read_file", f'{{"path": broken {SECRET}'),
    )
    sent = mask_request(ChatRequest((ChatMessage(Role.ASSISTANT, "", calls),))).messages[0]
    arguments = json.loads(sent.tool_calls[0].arguments)
    assert arguments["path"] == "a.env"
    assert arguments["content"] == 'A="1"\nDB_PASSWORD=[masked: password]\n'
    assert arguments["more"][1:] == [3, None]
    assert password not in sent.tool_calls[0].arguments
    assert sent.tool_calls[1] == calls[1]
    assert all(SECRET not in call.arguments for call in sent.tool_calls)


def test_whoever_opens_a_model_behind_a_url_gets_the_gate() -> None:
    model = GenerationModel("m", "m-1", "http://127.0.0.1:9/v1", needs_key=False)
    backend = open_remote_backend(model, "", len)
    try:
        assert isinstance(backend, RemoteBackend)
        assert backend.masks_secrets
    finally:
        backend.close()
