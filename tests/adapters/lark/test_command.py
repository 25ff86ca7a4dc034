"""`codekernel hub` with a bot of Lark, `codekernel hub bind lark`, `codekernel doctor lark`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.chat_server import ChatServer, reply_text
from support.lark_platform import APP_ID, APP_SECRET, LarkPlatform
from support.lark_world import CHAT, read_card
from support.shared_kernel import ENVIRON, SharedKernel, set_variables

pytestmark = pytest.mark.slow


class LarkCommands:
    """Commands on one userData folder whose settings name a loopback platform."""

    def __init__(self, user_data: Path, platform: LarkPlatform) -> None:
        self.user_data = user_data
        self.platform = platform

    def run(self, *words: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self._build_command(words), input=given, capture_output=True, text=True,
            env={**os.environ, **ENVIRON}, timeout=100, check=False,
        )  # fmt: skip

    @contextmanager
    def serve(self) -> Iterator[None]:
        with subprocess.Popen(
            self._build_command(("hub", "--port", "0")), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env={**os.environ, **ENVIRON},
        ) as process:  # fmt: skip
            try:
                self.platform.wait_until(lambda: self.platform.connection_count > 0)
                yield
            finally:
                process.kill()

    def wait_for_text(self, text: str) -> None:
        self.platform.wait_until(
            lambda: any(text in read_card(card) for card in self.platform.list_cards(CHAT))
        )

    def _build_command(self, words: tuple[str, ...]) -> list[str]:
        place = ["--user-data", str(self.user_data)]
        return [sys.executable, "-m", "codekernel", words[0], *place, *words[1:]]


@pytest.fixture
def lark(user_data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LarkCommands]:
    set_variables(monkeypatch)
    with LarkPlatform() as platform, ChatServer([reply_text("The answer is **42**.")]) as server:
        settings: dict[str, Any] = {
            "lark": {"enabled": True, "appId": APP_ID, "domain": platform.url},
            "conversationSettings": {
                "generationModel": [{"name": "model", "modelName": "m", "url": server.url}],
                "historyLength": 1000,
            },
        }
        (user_data / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        yield LarkCommands(user_data, platform)


def test_the_doctor_says_what_is_missing(lark: LarkCommands) -> None:
    missing = lark.run("doctor", "lark")
    assert missing.returncode == 1
    assert "PROBLEM: there is no app secret: codekernel key set lark:secret" in missing.stdout
    stored = lark.run("key", "set", "lark:secret", given="not-the-secret")
    assert (stored.returncode, stored.stderr) == (0, "")
    assert "the app secret is wrong" in lark.run("doctor", "lark").stdout
    lark.run("key", "set", "lark:secret", given=APP_SECRET)
    lark.platform.scopes = {"im:message:send_as_bot"}
    found = lark.run("doctor", "lark")
    assert "ok: the app is the bot Loop" in found.stdout
    assert "ok: the app may send messages" in found.stdout
    assert "PROBLEM: the app may not receive messages: grant im:message or" in found.stdout
    assert "ok: the long connection is accepted and answers" in found.stdout
    assert "PROBLEM: nobody is bound: codekernel hub bind lark" in found.stdout
    assert APP_SECRET not in found.stdout + found.stderr


def test_a_person_is_bound_asks_searches_and_works_with_an_agent(
    lark: LarkCommands, repo: Path
) -> None:
    (repo / "wizard.py").write_text("def cast_spell():\n    return 'abracadabra'\n")
    with SharedKernel(lark.user_data):
        lark.run("key", "set", "lark:secret", given=APP_SECRET)
        lark.run("repos", "add", str(repo))
        with lark.serve():
            code = lark.run("hub", "bind", "lark").stdout.strip()
            lark.platform.say(f"{code} Ann")
            lark.wait_for_text("You may use this bot now")
            assert "ou_ann  Ann" in lark.run("hub", "unbind", "lark").stdout
            lark.platform.say("/search abracadabra")
            lark.wait_for_text("def cast_spell")
            lark.platform.say("/ask what is the answer?")
            lark.wait_for_text("The answer is **42**.")
            lark.platform.say("/new demo")
            lark.wait_for_text("Started **demo**")
            lark.platform.say("and again?")
            lark.platform.wait_until(
                lambda: "Done" in read_card(lark.platform.list_cards(CHAT)[-1])
            )
            doctor = lark.run("doctor", "lark")
            assert "a card was sent to the chat oc_1, and updated" in doctor.stdout
            assert doctor.returncode == 0
            lark.run("hub", "unbind", "lark", "ou_ann")
            lark.platform.say("one more")
            lark.wait_for_text("serves its owner alone")
