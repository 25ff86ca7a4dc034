"""A bot on a loopback platform, before a real engine with a scripted agent."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codekernel.adapters.chat.bindings import ChatBinding, ChatBindings
from codekernel.adapters.chat.repository_queries import RepositoryQueries
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.hub.events import HubEventLog
from codekernel.adapters.hub.machine_table import MachineTable
from codekernel.adapters.hub.machines import HubMachines
from codekernel.adapters.lark.adapter import LarkAdapter
from codekernel.adapters.lark.api import LarkApi
from codekernel.storage.user_data import UserData

from support.lark_card_rules import list_texts
from support.lark_platform import APP_ID, APP_SECRET, LarkPlatform
from support.scripted_agent import EngineWorld, open_world

CHAT, ANN = "oc_1", "ou_ann"


def make_adapter(
    url: str, user_data: Path, database: HubDatabase, *, notices_only: bool = False
) -> LarkAdapter:
    api = LarkApi(APP_ID, APP_SECRET, url)
    return LarkAdapter(
        api, database, RepositoryQueries(UserData(user_data)), notices_only=notices_only
    )


def attach_engine(engine: EngineWorld) -> HubMachines:
    """Return the sessions as the hub has them, of one machine."""
    log = HubEventLog()
    table = MachineTable(log)
    table.attach(engine.engine)
    return HubMachines(table, log)


@dataclass
class LarkWorld:
    """Everything between a user of Lark and an agent."""

    platform: LarkPlatform
    engine: EngineWorld
    user_data: Path
    database: HubDatabase
    machines: HubMachines
    notices_only: bool = False
    adapter: LarkAdapter | None = None

    @property
    def bindings(self) -> ChatBindings:
        return ChatBindings(self.database, "lark")

    def start_adapter(self) -> None:
        self.adapter = make_adapter(
            self.platform.url, self.user_data, self.database, notices_only=self.notices_only
        )
        self.adapter.start(self.machines)

    def stop_adapter(self) -> None:
        if self.adapter:
            self.adapter.stop()
            self.adapter = None

    def restart_adapter(self) -> None:
        self.stop_adapter()
        self.start_adapter()

    def bind(self, user: str = ANN, name: str = "Ann") -> None:
        assert self.bindings.bind_user(self.bindings.create_code(), user, name)

    def follow_session(self, chat_id: str = CHAT) -> str:
        """Start a session that a chat follows, as /new does; return its id."""
        count = len(self.platform.messages)
        self.platform.say(f"/new {self.engine.folder} scripted", chat_id)
        self.platform.wait_until(lambda: len(self.platform.messages) > count)
        return self.bindings.get_chat(chat_id).session_id

    def wait_for_text(self, text: str, chat_id: str = CHAT) -> Any:
        """Wait for a card with a text; return it as it is then."""
        found: list[Any] = []

        def look() -> bool:
            found[:] = [
                card for card in self.platform.list_cards(chat_id) if text in read_card(card)
            ]
            return bool(found)

        self.platform.wait_until(look)
        return found[-1]

    def find_message(self, text: str) -> str:
        """Return the id of the last message whose card has a text."""
        return [
            each.id for each in self.platform.messages.values() if text in read_card(each.content)
        ][-1]

    def get_binding(self) -> ChatBinding:
        return self.bindings.get_chat(CHAT)

    def press(self, label: str, user: str = ANN) -> Any:
        """Press a button of any card of the chat; return what the adapter answers."""
        message_id, value = next(
            (each.id, element["behaviors"][0]["value"])
            for each in reversed(self.platform.messages.values())
            for element in each.content["body"]["elements"]
            if element["tag"] == "button" and element["text"]["content"].startswith(label)
        )
        return self.click(message_id, value, user)

    def has_button(self, label: str) -> bool:
        """Return whether any card has a button with this label now."""
        return any(
            element["tag"] == "button" and element["text"]["content"].startswith(label)
            for each in tuple(self.platform.messages.values())
            for element in each.content["body"]["elements"]
        )

    def click(self, message_id: str, value: dict[str, Any], user: str = ANN) -> Any:
        click = self.platform.click(message_id, value, user)
        self.platform.wait_until(click.answered.is_set)
        return click.answers[0]


def read_card(card: Any) -> str:
    """Return everything that a person can read on a card."""
    header = card.get("header", {})
    subtitle = header.get("subtitle", {}).get("content", "")
    return "\n".join([header.get("title", {}).get("content", ""), subtitle, *list_texts(card)])


def get_color(card: Any) -> str:
    return str(card["header"]["template"])


@contextmanager
def open_lark_world(user_data: Path, **options: Any) -> Iterator[LarkWorld]:
    with LarkPlatform() as platform, open_world(user_data) as engine:
        database = HubDatabase(user_data)
        machines = attach_engine(engine)
        world = LarkWorld(platform, engine, user_data, database, machines, **options)
        world.start_adapter()
        try:
            platform.wait_until(lambda: platform.connection_count > 0)
            yield world
        finally:
            world.stop_adapter()
            database.close()
