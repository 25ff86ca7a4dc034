"""Turns in several chats while everything goes wrong, and whether all of it was shown once."""

import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codekernel.adapters.chat.bindings import ChatBinding, ChatBindings
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.lark.cards import MAX_REQUEST_BYTES
from codekernel.adapters.lark.store import LarkStore
from codekernel.domain.agent_sessions import NewSession
from codekernel.domain.chat import TextContent

from support.lark_platform import Faults, LarkPlatform
from support.lark_world import get_color, read_card
from support.polling import pause_at_random
from support.scripted_agent import KIND, PHONE, open_world

WORD = re.compile(r"w\d+x\d+")
USER = "ou_ann"
DRAIN_SECONDS = 240.0


@dataclass
class SoakResult:
    """What happened."""

    turns: int
    kills: int = 0
    platform_restarts: int = 0
    connection_cuts: int = 0
    cards: int = 0
    updates: int = 0
    largest_request: int = 0
    resent_events: int = 0
    refusals: dict[int, int] = field(default_factory=dict)
    words: int = 0
    problems: list[str] = field(default_factory=list)


class LarkSoak:
    """Runs turns; ``chaos`` says how often per turn something dies."""

    def __init__(self, user_data: Path, *, turns: int, chats: int, seed: int, chaos: float) -> None:
        self._user_data = user_data
        self._turns = turns
        self._chats = [f"oc_{number}" for number in range(chats)]
        self._rng = random.Random(seed)  # noqa: S311
        self._chaos = chaos
        self._platform = LarkPlatform(resend_seconds=1.0)
        self._child: subprocess.Popen[str] | None = None
        self._result = SoakResult(turns)
        self._sessions: dict[str, str] = {}

    def run(self, report: Callable[[str], None] = lambda _: None) -> SoakResult:
        """Run to the end and compare."""
        self._prepare()
        with self._platform:
            faults = Faults(random.Random(1), 0.02, 0.02, 0.02, 0.02)  # noqa: S311
            self._platform.faults = faults
            self._start_child()
            stopping = threading.Event()
            presser = threading.Thread(target=self._press_buttons, args=(stopping,), daemon=True)
            presser.start()
            for number in range(1, self._turns + 1):
                self._run_turn(number)
                if number % 50 == 0:
                    report(f"{number} turns, {len(self._platform.messages)} cards")
            self._platform.faults = Faults()
            self._drain()
            stopping.set()
            presser.join()
            self._stop_child()
        self._compare()
        return self._result

    def _prepare(self) -> None:
        """Bind a user, and have each chat follow a session of its own."""
        database = HubDatabase(self._user_data)
        bindings, store = ChatBindings(database, "lark"), LarkStore(database)
        bindings.bind_user(bindings.create_code(), USER, "Ann")
        with open_world(self._user_data) as world:
            for chat in self._chats:
                new = NewSession(str(world.folder), PHONE, KIND, tag=chat)
                self._sessions[chat] = world.engine.start_session(new).id
                bindings.save_chat(ChatBinding(chat, self._sessions[chat], str(world.folder)))
                store.save_feed(chat, self._sessions[chat], 0)
        database.close()

    def _run_turn(self, number: int) -> None:
        chat = self._chats[number % len(self._chats)]
        event = self._platform.say(f"turn {number}", chat, USER, parts=self._rng.choice([1, 1, 3]))
        chance = self._rng.random()
        if chance < self._chaos / 2:
            self._kill_child()
        elif chance < self._chaos * 0.75:
            self._result.connection_cuts += 1
            self._platform.cut_connections()
        elif chance < self._chaos:
            self._result.platform_restarts += 1
            self._platform.stop()
            pause_at_random(self._rng, 1.0)
            self._platform.start()
        self._platform.wait_until(event.answered.is_set, 120)
        self._result.resent_events += event.sent_count - 1
        pause_at_random(self._rng, 0.6)

    def _start_child(self) -> None:
        command = [
            sys.executable,
            str(Path(__file__).with_name("lark_child.py")),
            str(self._user_data),
            self._platform.url,
        ]
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._read_line("ready")

    def _read_line(self, expected: str) -> None:
        assert self._child is not None
        assert self._child.stdout is not None
        line = self._child.stdout.readline().strip()
        assert line == expected, line

    def _kill_child(self) -> None:
        assert self._child is not None
        self._result.kills += 1
        self._child.kill()
        self._child.communicate()
        self._start_child()

    def _drain(self) -> None:
        assert self._child is not None
        assert self._child.stdin is not None
        watchdog = threading.Timer(DRAIN_SECONDS, self._child.kill)
        watchdog.start()
        self._child.stdin.write("drain\n")
        self._child.stdin.flush()
        self._read_line("drained")
        watchdog.cancel()

    def _stop_child(self) -> None:
        assert self._child is not None
        self._child.communicate()

    def _press_buttons(self, stopping: threading.Event) -> None:
        """Allow everything that is asked, as a person would: once."""
        pressed: set[str] = set()
        while not stopping.wait(0.1):
            for message in list(self._platform.messages.values()):
                if message.id in pressed or get_color(message.content) != "orange":
                    continue
                buttons = [
                    element["behaviors"][0]["value"]
                    for element in message.content["body"]["elements"]
                    if element["tag"] == "button"
                ]
                if buttons:
                    pressed.add(message.id)
                    self._platform.click(message.id, buttons[0], USER)

    def _compare(self) -> None:
        """Compare every card with what the engine has kept."""
        result, platform = self._result, self._platform
        result.cards = len(platform.messages)
        result.updates = sum(len(each.versions) - 1 for each in platform.messages.values())
        result.largest_request = platform.largest_request
        for code in platform.refused:
            result.refusals[code] = result.refusals.get(code, 0) + 1
        if result.largest_request > MAX_REQUEST_BYTES:
            result.problems.append(f"a request had {result.largest_request} bytes")
        result.problems += [
            f"refused with {code}" for code in (230020, 230025, 230099) if code in result.refusals
        ]
        with open_world(self._user_data) as world:
            for chat, session_id in self._sessions.items():
                messages = read_all(world.engine, session_id)
                self._compare_chat(chat, messages)

    def _compare_chat(self, chat: str, messages: list[Any]) -> None:
        asked = [text for each in messages for text in texts_of(each, "user")]
        numbers = [int(text.split()[-1]) for text in asked]
        place = self._chats.index(chat)
        wanted = [n for n in range(1, self._turns + 1) if n % len(self._chats) == place]
        if numbers != wanted:
            self._result.problems.append(f"{chat}: asked {numbers}, wanted {wanted}")
        said = [word for each in messages for text in texts_of(each, "assistant")
                for word in WORD.findall(text)]  # fmt: skip
        cards = [card for card in self._platform.list_cards(chat) if is_of_turn(card)]
        shown = WORD.findall("\n".join(map(read_card, cards)))
        self._result.words += len(said)
        if shown != said:
            lost, extra = len(set(said) - set(shown)), len(shown) - len(set(shown))
            self._result.problems.append(f"{chat}: {lost} words lost, {extra} twice, or disordered")
        self._result.problems += [
            f"{chat}: a card is left in a state that passes: {read_card(card)[:300]!r}"
            for card in cards
            if get_color(card) not in {"green", "red", "grey"}
        ]


def is_of_turn(card: Any) -> bool:
    """Return whether a card is one of a turn: neither a reply nor a permission."""
    return get_color(card) != "blue" and "`run_command`" not in read_card(card)


def texts_of(message: Any, role: str) -> list[str]:
    """Return the texts of a message of a role, in the order of its blocks."""
    content = message.message
    if content.role != role or "notice" in content.meta:
        return []
    return [block.text for block in content.content if isinstance(block, TextContent)]


def read_all(engine: Any, session_id: str) -> list[Any]:
    """Return all messages in the order in which the agent saw and said them."""
    found: list[Any] = []
    while True:
        after = found[-1].seq if found else 0
        page = engine.read_messages(session_id, after_seq=after, limit=200)
        found += page.messages
        if not page.has_more:
            return sorted(found, key=lambda it: (it.invoked_at or it.created_at, it.seq))
