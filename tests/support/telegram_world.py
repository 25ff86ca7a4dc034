"""Telegram on loopback, a real engine with a scripted agent, and the adapter between them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codekernel.adapters.chat.bindings import ChatBindings
from codekernel.adapters.chat.repository_queries import RepositoryQueries
from codekernel.adapters.chat.session_feed import RateLimit
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.hub.events import HubEventLog
from codekernel.adapters.hub.machine_table import MachineTable
from codekernel.adapters.hub.machines import HubMachines
from codekernel.adapters.telegram.adapter import TelegramAdapter
from codekernel.adapters.telegram.followed_chats import TelegramOptions
from codekernel.adapters.telegram.rendering import WORKING_LINE
from codekernel.storage.user_data import UserData

from support.bot_api import TOKEN, BotApi, BotMessage, serve_bot_api
from support.scripted_agent import EngineWorld, ScriptedAgent, ScriptedTurn, open_world

ANN, BOB, EVE = 7, 8, 9
# The platform's limits, a hundred times as fast.
SHORT_SECONDS = 0.01
SHORT_LIMITS = (RateLimit(SHORT_SECONDS * 1.2), RateLimit(SHORT_SECONDS * 1.2))


@dataclass
class TelegramWorld:
    """``restart`` ends the adapter and starts another one on the same database."""

    api: BotApi
    address: str
    engine: EngineWorld
    machines: HubMachines
    user_data: Path
    options: dict[str, Any] = field(default_factory=dict)
    adapter: TelegramAdapter | None = None
    database: HubDatabase | None = None

    def start(self) -> None:
        self.database = HubDatabase(self.user_data)
        options = TelegramOptions(TOKEN, self.address, **{"limits": SHORT_LIMITS, **self.options})
        queries = RepositoryQueries(UserData(self.user_data))
        self.adapter = TelegramAdapter(self.database, options, queries)
        self.adapter.start(self.machines)

    def stop(self) -> None:
        if self.adapter is not None and self.database is not None:
            self.adapter.stop()
            self.database.close()
            self.adapter = None

    def restart(self) -> None:
        self.stop()
        self.start()

    @property
    def bindings(self) -> ChatBindings:
        assert self.database is not None
        return ChatBindings(self.database, "telegram")

    def bind(self, user: int = ANN, name: str = "Ann") -> None:
        self.api.say(user, f"/bind {self.bindings.create_code()}", name=name)
        self.api.wait_for_text(user, f"Welcome, {name}")

    def begin(self, user: int = ANN) -> str:
        """Bind a user and start a session in the user's chat; return its id."""
        self.bind(user)
        self.api.say(user, f"/new {self.engine.folder.name} scripted")
        self.api.wait_for_text(user, "Started")
        return self.engine.engine.list_sessions()[0].id

    def texts(self, chat: int = ANN) -> list[str]:
        return [message.text for message in self.api.list_messages(chat)]

    def wait_for_end(self, text: str, chat: int = ANN) -> BotMessage:
        """Wait until a turn with a text has ended."""
        message = self.wait_for(text, chat)
        self.api.wait_until(lambda: WORKING_LINE not in message.text)
        return message

    def wait_for(self, text: str, chat: int = ANN) -> BotMessage:
        return self.api.wait_for_text(chat, text)


@contextmanager
def open_telegram(
    user_data: Path,
    turn: Callable[[ScriptedTurn], object] | None = None,
    api: BotApi | None = None,
    address: str = "",
    **options: Any,
) -> Iterator[TelegramWorld]:
    """Run everything; the turns of the agent are ``turn``, or repeat what was said.

    ``address`` is of a platform that runs elsewhere.
    """
    with ExitStack() as stack:
        agent = ScriptedAgent(turn) if turn else ScriptedAgent()
        engine = stack.enter_context(open_world(user_data, agent))
        platform = api or BotApi(interval_seconds=SHORT_SECONDS)
        address = address or stack.enter_context(serve_bot_api(platform))
        log = HubEventLog()
        table = MachineTable(log)
        machines = HubMachines(table, log)
        table.attach(engine.engine)
        world = TelegramWorld(platform, address, engine, machines, user_data, options)
        world.start()
        stack.callback(world.stop)
        yield world
        assert platform.problems == []
