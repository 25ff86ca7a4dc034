"""``codekernel models add``, and the model of the environment, with a scripted endpoint."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from codekernel.cli.commands.models_add import _find_free_name
from codekernel.errors import WrongParam
from support.chat_server import ChatServer, WholeResponse, reply_text
from support.command_line import codekernel
from support.conversation_client import ENVIRON, write_sources

TESTED = (WholeResponse(200, {"choices": [{"message": {"content": "Hi"}}]}),)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer([TESTED]) as running:
        running.models = ["scripted-1", "scripted-2"]
        yield running


@pytest.mark.slow
def test_a_model_is_added_by_options_tried_and_saved_then_it_answers(
    user_data: Path, repo: Path, server: ChatServer
) -> None:
    write_sources(repo)
    words = ("models", "add", "--url", server.url, "--model", "scripted-1")
    added = codekernel(user_data, repo, *words, **ENVIRON)
    assert added.returncode == 0, added.stderr
    assert 'codekernel ask --model "scripted-1"' in added.stdout
    saved = json.loads((user_data / "settings.json").read_bytes())["conversationSettings"]
    (model,) = saved["generationModel"]
    assert (model["name"], model["url"], model["setApiKey"]) == ("scripted-1", server.url, False)
    again = codekernel(user_data, repo, *words, "--name", "scripted-1", **ENVIRON)
    assert "already" in again.stderr
    server._script[:] = [reply_text("It answers.")]
    asked = codekernel(user_data, repo, "ask", "Does it?", **ENVIRON)
    assert "It answers." in asked.stdout, asked.stderr


@pytest.mark.slow
def test_a_model_that_fails_its_test_is_not_saved(
    user_data: Path, repo: Path, server: ChatServer
) -> None:
    server._script[:] = [(WholeResponse(401, {"error": {"message": "bad key"}}),)]
    words = ("models", "add", "--url", server.url, "--model", "scripted-1")
    added = codekernel(user_data, repo, *words, **ENVIRON)
    assert added.returncode == 2
    assert "refused the key" in added.stderr
    assert not (user_data / "settings.json").exists()


@pytest.mark.slow
def test_the_environment_names_a_model_that_is_never_written(
    user_data: Path, repo: Path, server: ChatServer
) -> None:
    write_sources(repo)
    server._script[:] = [reply_text("From the environment.")]
    named = {"OPENAI_API_KEY": "sk-environment", "OPENAI_BASE_URL": server.url}
    asked = codekernel(user_data, repo, "ask", "Hm?", **ENVIRON, **named, OPENAI_MODEL="scripted-2")
    assert "From the environment." in asked.stdout, asked.stderr
    assert server.received[0].headers["Authorization"] == "Bearer sk-environment"
    assert server.received[0].json["model"] == "scripted-2"
    files = [path for path in user_data.rglob("*") if path.is_file()]
    assert not [path for path in files if b"sk-environment" in path.read_bytes()]
    without = codekernel(user_data, repo, "ask", "--model", "scripted-1", "Hm?", **ENVIRON)
    assert without.returncode == 2


def test_without_a_model_two_ways_to_one_are_offered(user_data: Path, repo: Path) -> None:
    asked = codekernel(user_data, repo, "ask", "Hm?")
    assert asked.returncode == 2
    assert "codekernel models add" in asked.stderr
    assert "OPENAI_API_KEY" in asked.stderr
    assert "{" not in asked.stderr


def test_a_name_is_never_given_twice() -> None:
    assert _find_free_name(None, "gpt", ["gpt", "gpt-2"]) == "gpt-3"
    with pytest.raises(WrongParam, match="another --name"):
        _find_free_name("gpt", "gpt", ["gpt"])
