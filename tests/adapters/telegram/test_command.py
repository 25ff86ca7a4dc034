"""`codekernel hub` with a bot, `codekernel hub bind` and `codekernel doctor telegram`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.bot_api import TOKEN, BotApi, serve_bot_api
from support.chat_server import ChatServer, reply_text
from support.shared_kernel import ENVIRON, SharedKernel, set_variables
from support.telegram_world import ANN


class HubProcess:
    """Commands on one userData folder."""

    def __init__(self, user_data: Path) -> None:
        self.user_data = user_data

    def run(self, *words: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "codekernel", *self._add_place(words)],
            input=given,
            capture_output=True,
            text=True,
            env={**os.environ, **ENVIRON},
            timeout=60,
            check=False,
        )

    def start(self) -> "subprocess.Popen[str]":
        words = self._add_place(("hub", "--port", "0"))
        process = subprocess.Popen(
            [sys.executable, "-m", "codekernel", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **ENVIRON},
        )
        assert process.stdout
        for line in process.stdout:
            if "Ctrl-C" in line:
                break
        return process

    def _add_place(self, words: tuple[str, ...]) -> list[str]:
        return [words[0], "--user-data", str(self.user_data), *words[1:]]


@pytest.fixture
def api() -> BotApi:
    return BotApi()


@pytest.fixture
def hub(user_data: Path, api: BotApi, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubProcess]:
    set_variables(monkeypatch)
    model = [reply_text("The answer is **42**.")]
    with serve_bot_api(api) as address, ChatServer(model) as server:
        settings: dict[str, Any] = {
            "telegram": {"enabled": True, "apiBase": address},
            "conversationSettings": {
                "generationModel": [{"name": "model", "modelName": "m", "url": server.url}],
                "historyLength": 1000,
            },
        }
        (user_data / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        yield HubProcess(user_data)


def test_the_doctor_says_what_is_missing_until_a_message_makes_the_round(
    hub: HubProcess, api: BotApi
) -> None:
    missing = hub.run("doctor", "telegram")
    assert "PROBLEM: there is no token: codekernel key set telegram:bot" in missing.stdout
    stored = hub.run("key", "set", "telegram:bot", given="1:wrong")
    assert (stored.returncode, stored.stderr) == (0, "")
    assert "PROBLEM: Telegram does not know this token" in hub.run("doctor", "telegram").stdout
    hub.run("key", "set", "telegram:bot", given=TOKEN)
    unbound = hub.run("doctor", "telegram")
    assert "knows the bot @code_test_bot" in unbound.stdout
    assert "PROBLEM: nobody is bound: codekernel hub bind telegram" in unbound.stdout
    assert TOKEN not in unbound.stdout + unbound.stderr


def test_a_person_is_bound_asks_searches_and_works_with_an_agent(
    hub: HubProcess, api: BotApi, repo: Path
) -> None:
    (repo / "wizard.py").write_text("def cast_spell():\n    return 'abracadabra'\n")
    with SharedKernel(hub.user_data):
        hub.run("key", "set", "telegram:bot", given=TOKEN)
        hub.run("repos", "add", str(repo))
        with hub.start() as process:
            try:
                code = hub.run("hub", "bind", "telegram").stdout.strip()
                api.say(ANN, code)
                api.wait_for_text(ANN, "Welcome, Ann")
                assert f"{ANN}  Ann" in hub.run("hub", "unbind", "telegram").stdout
                api.say(ANN, "/search abracadabra")
                assert "def cast_spell" in api.wait_for_text(ANN, "wizard.py:1").text
                api.say(ANN, "/ask what is the answer?")
                api.wait_for_text(ANN, "The answer is 42.")
                api.say(ANN, "/new demo")
                api.wait_for_text(ANN, "Started demo")
                api.say(ANN, "and again?")
                api.wait_until(lambda: any_answer(api))
                assert "was sent, edited and deleted" in hub.run("doctor", "telegram").stdout
                hub.run("hub", "unbind", "telegram", str(ANN))
                count = len(api.list_messages(ANN))
                api.say(ANN, "one more")
                api.wait_for_text(ANN, "This bot is private")
                assert len(api.list_messages(ANN)) == count + 1
            finally:
                process.kill()
                output = process.communicate()[0]
    log = "".join(file.read_text() for file in (hub.user_data / "logs").glob("*"))
    assert TOKEN not in output + log
    assert TOKEN not in (hub.user_data / "settings.json").read_text()


def any_answer(api: BotApi) -> bool:
    texts = [message.text for message in api.list_messages(ANN)]
    return any("The answer is 42." in text for text in texts[texts.index(started(texts)) :])


def started(texts: list[str]) -> str:
    return next(text for text in texts if text.startswith("Started"))
