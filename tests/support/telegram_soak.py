"""Turns in Telegram while everything goes wrong, and whether all of it is there once, in order."""

import json
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codekernel.adapters.chat.bindings import ChatBindings
from codekernel.adapters.hub.database import HubDatabase

from support.bot_api import BotApi, serve_bot_api
from support.telegram_world import ANN, SHORT_SECONDS

TESTS = Path(__file__).parents[1]
MARK = re.compile(r"\[(begin|done|end) ([\d-]+)\]")
DRAIN_SECONDS = 240.0
# Of requests; what is lost on the way to the platform, on the way back, half or refused.
FAULTS = (("before", 0.02), ("after", 0.03), ("half", 0.01), ("error", 0.01))


@dataclass
class TelegramSoakResult:
    turns: int
    kills: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    refusals: dict[int, int] = field(default_factory=dict)
    messages: int = 0
    documents: int = 0
    edits: int = 0
    marks: int = 0
    problems: list[str] = field(default_factory=list)


class TelegramSoak:
    """Runs turns; ``kill_share`` is how often per turn the bot and the engine are killed."""

    def __init__(self, user_data: Path, *, turns: int, seed: int, kill_share: float) -> None:
        self._user_data = user_data
        self._rng = random.Random(seed)  # noqa: S311
        self._kill_share = kill_share
        self._api = BotApi(interval_seconds=SHORT_SECONDS)
        self._result = TelegramSoakResult(turns)
        self._has_faults = False
        self._lock = threading.Lock()
        self._api.fault = self._choose_fault

    def run(self, report: Callable[[str], None] = lambda _: None) -> TelegramSoakResult:
        """Run the turns, wait until everything is delivered, and compare."""
        with serve_bot_api(self._api) as address:
            child = self._begin(address)
            self._has_faults = True
            for number in range(self._result.turns):
                self._api.say(ANN, f"turn {number}")
                if number % 50 == 49:
                    report(f"{number + 1} turns, {self._result.kills} kills")
                # Some turns are waited for, others are queued while the agent works.
                if self._rng.random() < 0.7:
                    self._wait_for_calls(self._rng.randint(1, 12))
                if self._rng.random() < self._kill_share:
                    self._wait_for_calls(self._rng.randint(0, 8))
                    end(child)
                    self._result.kills += 1
                    child = self._spawn(address)
            self._has_faults = False
            state = self._drain(child)
            end(child)
        self._compare(state)
        return self._result

    def _begin(self, address: str) -> "subprocess.Popen[str]":
        self._user_data.mkdir(exist_ok=True)
        database = HubDatabase(self._user_data)
        code = ChatBindings(database, "telegram").create_code()
        database.close()
        child = self._spawn(address)
        self._api.say(ANN, f"/bind {code}")
        self._api.wait_for_text(ANN, "Welcome")
        self._api.say(ANN, "/new repo scripted")
        self._api.wait_for_text(ANN, "Started")
        return child

    def _spawn(self, address: str) -> "subprocess.Popen[str]":
        child = subprocess.Popen(
            [sys.executable, "-m", "support.telegram_child", str(self._user_data), address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=TESTS,
            env={"PYTHONPATH": f"{TESTS.parent / 'kernel'}:{TESTS}", "ORT_DISABLE_TELEMETRY": "1"},
        )
        assert child.stdout
        assert child.stdout.readline()
        return child

    def _choose_fault(self, _method: str) -> str:
        if not self._has_faults:
            return ""
        with self._lock:
            chance = self._rng.random()
            for name, share in FAULTS:
                if chance < share:
                    self._result.faults[name] = self._result.faults.get(name, 0) + 1
                    return name
                chance -= share
        return ""

    def _wait_for_calls(self, count: int) -> None:
        """Wait until the bot has done something; it may have nothing to do."""
        with self._api.changed:
            begin = len(self._api.calls)
            self._api.changed.wait_for(lambda: len(self._api.calls) >= begin + count, 1.0)

    def _drain(self, child: "subprocess.Popen[str]") -> dict[str, Any]:
        deadline = time.monotonic() + DRAIN_SECONDS
        while True:
            state = ask(child)
            open_items = [it for it in state["open_items"] if not it.startswith("permission:")]
            is_shown = list(state["shown"].values()) == list(state["last"].values())
            if (state["is_idle"] and not open_items and is_shown) or time.monotonic() > deadline:
                if open_items or not is_shown:
                    self._result.problems.append(f"not delivered: {open_items} {state['shown']}")
                return state
            self._wait_for_calls(5)

    def _compare(self, state: dict[str, Any]) -> None:
        result = self._result
        expected = [name for text in state["messages"] for name in list_marks(text, "done", "end")]
        messages = self._api.list_messages(ANN)
        found: list[str] = []
        for message in messages:
            content = message.text if message.document is None else message.document.decode()
            found += list_marks(content, "done", "end")
        result.refusals = dict(self._api.refusals)
        result.messages, result.marks = len(messages), len(expected)
        result.documents = sum(message.document is not None for message in messages)
        result.edits = sum(message.edits for message in messages)
        lost, twice = set(expected) - set(found), {it for it in found if found.count(it) > 1}
        if lost:
            result.problems.append(f"lost: {sorted(lost)[:10]}")
        if twice:
            result.problems.append(f"twice: {sorted(twice)[:10]}")
        ends = [it for it in found if it.startswith("end")]
        if ends != [it for it in expected if it.startswith("end")]:
            result.problems.append("the turns are not in order")
        working = [message.id for message in messages if "⏳" in message.text]
        if working:
            result.problems.append(f"messages that never ended: {working[:10]}")
        texts = [message.text for message in messages if message.document is None]
        replies = [it for it in texts if it.startswith(("Queued", "Welcome", "Started"))]
        if len(replies) > result.turns + 2:
            result.problems.append(f"{len(replies)} replies to {result.turns} messages")
        result.problems += self._api.problems


def end(child: "subprocess.Popen[str]") -> None:
    """Kill a process, as a power cut would."""
    with child:
        child.kill()


def ask(child: "subprocess.Popen[str]") -> dict[str, Any]:
    assert child.stdin
    assert child.stdout
    child.stdin.write("\n")
    child.stdin.flush()
    state: dict[str, Any] = json.loads(child.stdout.readline())
    return state


def list_marks(text: str, *kinds: str) -> list[str]:
    return [f"{kind} {name}" for kind, name in MARK.findall(text) if kind in kinds]
