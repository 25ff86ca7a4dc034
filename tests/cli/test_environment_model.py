"""The chat model of the environment."""

import pytest
from codekernel.cli.environment_model import (
    DEFAULT_OPENAI_MODEL,
    EnvironmentModel,
    read_environment_model,
)
from codekernel.errors import NetworkError
from codekernel.llm.presets import OPENAI_URL

LOCAL = "http://127.0.0.1:1/v1"


def read(environ: dict[str, str], *listed: str) -> EnvironmentModel | None:
    return read_environment_model(environ, lambda _url, _key: list(listed))


def test_a_key_alone_means_openai() -> None:
    found = read({"OPENAI_API_KEY": " sk-1 "})
    assert found == EnvironmentModel(DEFAULT_OPENAI_MODEL, OPENAI_URL, "sk-1")
    assert "sk-1" not in repr(found)


def test_nothing_in_the_environment_is_no_model() -> None:
    assert read({"OPENAI_MODEL": "gpt", "OPENAI_API_KEY": ""}) is None


def test_another_endpoint_is_asked_which_model_it_has() -> None:
    assert read({"OPENAI_BASE_URL": LOCAL}, "only") == EnvironmentModel("only", LOCAL, "")
    with pytest.raises(NetworkError, match=r"OPENAI_MODEL; .* has: a, b$"):
        read({"OPENAI_BASE_URL": LOCAL}, "a", "b")
    named = read({"OPENAI_BASE_URL": LOCAL, "OPENAI_MODEL": "b"})
    assert named == EnvironmentModel("b", LOCAL, "")
