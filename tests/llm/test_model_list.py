"""The models of an endpoint, and servers on this machine."""

import json

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import TestFailed
from codekernel.llm.model_list import (
    ListedModel,
    find_local_servers,
    list_models,
    resolve_list_url,
)
from codekernel.llm.presets import MODEL_PRESETS, ModelPreset
from llm.loopback import Reply, endpoint
from llm.trying import KEY, assert_no_key

ENTRIES = [
    {"id": "models/gemini-pro"},
    {
        "id": "acme/chat",
        "context_length": 128_000,
        "pricing": {"prompt": "0.00000025", "completion": "0.000002"},
    },
    {"id": "text-embedding-3-small"},
    {"id": "local", "max_model_len": 8192, "pricing": {"prompt": "-1"}},
    {"id": 7},
    "nonsense",
]
LIST = Reply(body=json.dumps({"object": "list", "data": ENTRIES}))


@pytest.mark.parametrize(
    ("url", "listed"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1/models"),
        ("https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1/models"),
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1/models"),
        ("http://h/v1?version=2", "http://h/v1/models?version=2"),
    ],
)
def test_the_list_is_beside_the_chat(url: str, listed: str) -> None:
    assert resolve_list_url(url) == listed


def test_chat_models_are_listed_by_name_with_what_the_endpoint_says_of_them() -> None:
    with endpoint(LIST) as served:
        assert list_models(served.url, KEY, CancelToken()) == (
            ListedModel("acme/chat", 128_000, 0.25, 2.0),
            ListedModel("gemini-pro"),
            ListedModel("local", 8192),
        )
    assert served.seen[0].path == "/v1/models"
    assert served.seen[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(401, json.dumps({"error": {"message": f"bad {KEY}"}})), "refused the key"),
        (Reply(200, "<html>"), "gives no list of its models: enter the name"),
        (Reply(200, "7"), "gives no list of its models"),
    ],
)
def test_why_there_is_no_list_is_said_without_the_key(reply: Reply, reason: str) -> None:
    with endpoint(reply) as served, pytest.raises(TestFailed, match=reason) as raised:
        list_models(served.url, KEY, CancelToken())
    assert_no_key(str(raised.value))


def test_servers_on_this_machine_are_found_and_what_is_none_is_left_out() -> None:
    with endpoint(LIST) as one, endpoint(Reply(404, "{}")) as other:
        presets = [
            ModelPreset("ollama", "Ollama", one.url),
            ModelPreset("vllm", "vLLM", other.url),
            ModelPreset("away", "Away", "http://127.0.0.1:9/v1"),
            ModelPreset("openai", "OpenAI", one.url, "https://keys.example"),
        ]
        (found,) = find_local_servers(CancelToken(), presets)
    assert (found.preset, found.url, len(found.models)) == ("ollama", one.url, 3)
    assert len(one.seen) == 1  # providers are no local servers


def test_local_presets_are_on_the_loopback_and_all_others_are_encrypted() -> None:
    for preset in MODEL_PRESETS:
        wanted = "http://127.0.0.1:" if preset.is_local else "https://"
        assert preset.url.startswith(wanted)
        assert preset.key_page.startswith("" if preset.is_local else "https://")
    assert len({preset.name for preset in MODEL_PRESETS}) == len(MODEL_PRESETS)
