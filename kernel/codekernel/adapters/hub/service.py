"""The hub as a whole: its parts, its chats, and what runs beside the server.

Chats (Lark, Telegram) run inside the hub's process. Each gets the sessions of all machines as one
``HubSessions`` and renders them; the hub starts and stops it.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.hub.devices import AccessTokens, DeviceRegistry, Pairing
from codekernel.adapters.hub.events import (
    DEFAULT_EVENT_LIMITS,
    EventBroadcaster,
    EventLimits,
    HubEventLog,
)
from codekernel.adapters.hub.machine_table import MachineTable
from codekernel.adapters.hub.machines import HubMachines
from codekernel.adapters.hub.routes.requests import HubContext
from codekernel.adapters.hub.server import HubPort, HubServer, make_app
from codekernel.adapters.static_pages import StaticPages
from codekernel.domain.agent_sessions import (
    AgentSessionRecord,
    AgentSessions,
    MachineRecord,
    NewSession,
)
from codekernel.errors import KernelError

logger = logging.getLogger(__name__)

# How soon a device that was revoked is cut off, and a machine that is gone is shown as away.
CHECK_INTERVAL_SECONDS = 2.0


class HubSessions(AgentSessions, Protocol):
    """The sessions of all machines as if they were of one; safe to use from any thread.

    A call goes to the machine that has the session. ``get_machine`` and ``start_session`` are about
    the machine of the hub itself. Positions of ``subscribe`` are the hub's own; after a restart of
    the hub, and after a machine was away for too long, everything is read anew: a session that
    changed meanwhile is told by SESSION_UPDATED and MESSAGES_INVALIDATED.
    """

    def list_machines(self) -> list[MachineRecord]:
        """Return all machines, the hub's own first; one that is away has ``is_active`` false."""

    def start_session_on(self, machine_id: str, new: NewSession) -> AgentSessionRecord:
        """Start a session on a machine. Raises MachineNotFound or MachineOffline."""


class ChatAdapter(Protocol):
    """A chat platform through which people use the sessions."""

    @property
    def name(self) -> str:
        """What the log calls it, for example ``telegram``."""

    def start(self, machines: HubSessions) -> None:
        """Begin to serve, on threads of its own; returns at once. Raises KernelError."""

    def stop(self) -> None:
        """End within seconds; nothing is called after it."""


class HubService:
    """A hub on a socket that is bound already."""

    def __init__(
        self,
        database: HubDatabase,
        port: HubPort,
        pages: StaticPages,
        chats: Sequence[ChatAdapter] = (),
        limits: EventLimits = DEFAULT_EVENT_LIMITS,
    ) -> None:
        self._log = HubEventLog()
        self._chats = chats
        devices = DeviceRegistry(database)
        self.table = MachineTable(self._log)
        self.machines = HubMachines(self.table, self._log)
        self.context = HubContext(
            self.table,
            self.machines,
            devices,
            Pairing(database, devices),
            AccessTokens(devices),
            EventBroadcaster(self._log, limits),
            port.rules,
            pages,
        )
        self._server = HubServer(make_app(self.context), port)
        self._check: asyncio.Task[None] | None = None

    def run(self) -> None:
        """Serve until stopped, with every chat that can be started."""
        started = [chat for chat in self._chats if self._start_chat(chat)]
        try:
            self._server.serve_until_stopped(self._start_tasks, self._stop_tasks)
        finally:
            for chat in started:
                chat.stop()

    def stop(self) -> None:
        """End the server; callable from any thread and from a signal handler."""
        self._server.stop()

    def _start_chat(self, chat: ChatAdapter) -> bool:
        try:
            chat.start(self.machines)
        except KernelError as error:  # the hub and the other chats work without it
            logger.warning("%s cannot be started: %s", chat.name, error)
            return False
        return True

    async def _start_tasks(self) -> None:
        self.context.broadcaster.start()
        self._check = asyncio.create_task(self._check_regularly())

    def _stop_tasks(self) -> None:
        if self._check is not None:
            self._check.cancel()
        self.context.broadcaster.stop()

    async def _check_regularly(self) -> None:
        while True:
            await asyncio.sleep(CHECK_INTERVAL_SECONDS)
            self.context.broadcaster.send_heartbeats()
            try:
                await self._check_devices()
            except (KernelError, TimeoutError):
                logger.exception("the devices cannot be checked")

    async def _check_devices(self) -> None:
        """Cut off what was revoked, and show machines that are gone as away."""
        devices = await self.context.run_in_thread(self.context.devices.list_all)
        paired = {device.id for device in devices}
        self.context.broadcaster.close_devices(paired)
        await self.context.run_in_thread(self.table.forget_owners, paired)
        await self.context.run_in_thread(self.table.check_activity)
