"""A user of Lark who follows one session of a campaign of kills, and writes to it, too."""

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from codekernel.adapters.chat.bindings import ChatBinding, ChatBindings
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.lark.store import LarkStore
from codekernel.domain.agent_sessions import SessionMessage

from support.hub_kills_checks import list_done
from support.hub_kills_tasks import DID, find_task
from support.lark_platform import APP_ID, APP_SECRET, LarkPlatform, PushedEvent
from support.lark_world import ANN, CHAT, read_card
from support.polling import is_true_within
from support.scripted_agent import text_of

PLATFORM = "lark"


class LarkUser:
    """What a user wrote to the bot of the hub, and what the bot has shown."""

    def __init__(self, platform: LarkPlatform) -> None:
        self._platform = platform
        self._said: dict[int, PushedEvent] = {}

    def make_settings(self) -> dict[str, Any]:
        """Return the settings by which the hub runs the bot."""
        return {PLATFORM: {"enabled": True, "appId": APP_ID, "domain": self._platform.url}}

    def bind(self, user_data: Path, session_id: str, folder: Path) -> None:
        """Let the user use the bot, and the chat follow a session."""
        place = ["--user-data", str(user_data)]
        subprocess.run(
            [sys.executable, "-m", "codekernel", "key", *place, "set", "lark:secret"],
            input=APP_SECRET, text=True, check=True, capture_output=True,
        )  # fmt: skip
        with closing(HubDatabase(user_data)) as database:
            bindings = ChatBindings(database, PLATFORM)
            bindings.bind_user(bindings.create_code(), ANN, "Ann")
            bindings.save_chat(ChatBinding(CHAT, session_id, str(folder)))
            LarkStore(database).save_feed(CHAT, session_id, 0)

    def say(self, task: int, text: str) -> None:
        """Write to the bot; the platform tells it again until it is acknowledged."""
        self._said[task] = self._platform.say(text)

    @property
    def count(self) -> int:
        """How many messages were written."""
        return len(self._said)

    def has_arrived(self, messages: Sequence[SessionMessage]) -> bool:
        """Return whether everything that was said is in the session."""
        return self._said.keys() <= {number for number, _ in _list_asked(messages)}

    def add_accepted(
        self, messages: Sequence[SessionMessage], accepted: dict[str, int]
    ) -> list[str]:
        """Add the tasks of this user to those that were accepted; return what is wrong."""
        asked = _list_asked(messages)
        accepted |= {each.local_id: number for number, each in asked if number in self._said}
        kept = Counter(number for number, _ in asked)
        return [
            f"task {task} of Lark is there {kept[task]} times ({said.sent_count} times sent)"
            for task, said in self._said.items()
            if kept[task] != 1
        ]

    def check_cards(self, messages: Sequence[SessionMessage], timeout_seconds: float) -> list[str]:
        """Wait until the cards show every answer once, in order."""
        done = [number for number, _ in list_done(messages)]
        if is_true_within(lambda: self._list_shown() == done, timeout_seconds):
            return []
        shown = self._list_shown()
        lost, twice = (
            set(done) - set(shown),
            [n for n, count in Counter(shown).items() if count > 1],
        )
        return [f"Lark: lost {sorted(lost)}, twice {twice}, {shown} is not {done}"]

    def _list_shown(self) -> list[int]:
        cards = self._platform.list_cards(CHAT)
        return [int(each) for each in DID.findall("\n".join(map(read_card, cards)))]


def _list_asked(messages: Sequence[SessionMessage]) -> list[tuple[int, SessionMessage]]:
    return [(find_task(text_of(each)), each) for each in messages if each.local_id]
