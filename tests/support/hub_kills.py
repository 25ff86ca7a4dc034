"""kill -9 of hub, kernel and agents while two devices use them, and whether anything was lost."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.hub.devices import DeviceRegistry
from codekernel.client.agent_sessions import RemoteAgentSessions
from codekernel.client.kernel_requests import KernelRequests
from codekernel.domain.agent_sessions import Actor, NewSession
from codekernel.domain.settings import OWN_AGENT
from codekernel.errors import KernelError

from support.chat_server import ChatServer
from support.conversation_client import chat_settings, write_sources
from support.hub_kills_checks import (
    check_devices,
    check_permissions,
    check_session,
    list_done,
    read_all,
)
from support.hub_kills_lark import LarkUser
from support.hub_kills_tasks import answer_task, make_task
from support.lark_platform import LarkPlatform
from support.polling import is_true_within, pause, pause_at_random
from support.resuming_device import GivenUp, ResumingDevice
from support.shared_kernel import SharedKernel

AGENT = Path(__file__).parents[1] / "adapters" / "acp" / "scripted_agent.py"
FOREIGN = "scripted"
SESSIONS = (OWN_AGENT, FOREIGN, OWN_AGENT, FOREIGN)
TARGETS = ("hub", "kernel", "agent")

# A third of the turns ask for a permission.
ASK_SHARE = 0.35
# Of looks at a session in which an own message waits.
TAKE_BACK_SHARE = 0.1
MAX_THINK_SECONDS = 0.4
# Between two messages of the user of Lark.
SAY_INTERVAL_SECONDS = 3.0
# Messages of one session that a device leaves waiting; more only make the end longer.
MAX_WAITING = 3
MAX_PAUSE_SECONDS = 1.0
# Of kills that are followed by another one before anything has to work again.
DOUBLE_SHARE = 0.3
# On a machine with many others: of a start, and for all that waits to be done.
START_TIMEOUT_SECONDS, SETTLE_TIMEOUT_SECONDS = 120.0, 300.0


@dataclass
class KillsResult:
    """What happened."""

    kills: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    answered: int = 0
    interrupted: int = 0
    taken_back: int = 0
    said_in_lark: int = 0
    permissions: Counter[str] = field(default_factory=Counter)
    gaps: int = 0
    resumes: int = 0
    refusals: Counter[str] = field(default_factory=Counter)
    hub_starts: int = 0
    problems: list[str] = field(default_factory=list)


class HubSupervisor:
    """Starts the hub, and starts it again whenever it ends."""

    def __init__(self, user_data: Path, log: Path) -> None:
        self._user_data, self._log = user_data, log
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self.starts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)
        self._thread.start()

    def kill(self) -> bool:
        """kill -9."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
        return process is not None

    def is_healthy(self) -> bool:
        """Return whether the hub answers."""
        with suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/health", trust_env=False).status_code == httpx.codes.OK
        return False

    def close(self) -> None:
        """End the hub for good."""
        self._is_stopping = True
        while self._thread.is_alive():  # it may have started another one meanwhile
            self.kill()
            self._thread.join(1)

    def _run(self) -> None:
        command = [sys.executable, "-m", "codekernel", "hub", "--port", str(self._port)]
        while not self._is_stopping:
            with self._log.open("ab") as log:
                process = self._process = subprocess.Popen(
                    [*command, "--user-data", str(self._user_data)],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                )  # fmt: skip
            self.starts += 1
            process.wait()


class HubKills:
    """A campaign in one userData folder; the environment is that of ``SharedKernel``."""

    def __init__(self, user_data: Path, *, kills: int, seed: int) -> None:
        self._user_data, self._kills, self._seed = user_data, kills, seed
        self._repo = user_data.parent / "demo"
        self._chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self._result = KillsResult()
        self._tasks: dict[str, int] = {}  # the number of a task by its localId
        self._next_task = 0
        self._lock = threading.Lock()
        self._is_stopping = False

    def run(self, show: Callable[[str], object] = lambda _: None) -> KillsResult:
        """Kill so often, then compare what devices know with what is kept."""
        with ExitStack() as opened:
            model = opened.enter_context(ChatServer([answer_task]))
            lark = LarkUser(opened.enter_context(LarkPlatform()))
            self._prepare(model.url, lark)
            opened.enter_context(SharedKernel(self._user_data))
            store = opened.enter_context(
                closing(RemoteAgentSessions(KernelRequests(self._user_data, "campaign")))
            )
            sessions = [self._start_session(store, *each) for each in enumerate(SESSIONS)]
            lark.bind(self._user_data, sessions[0], self._repo)
            hub = HubSupervisor(self._user_data, self._user_data.parent / "hub.log")
            try:
                devices = self._pair(hub)
                for device in devices:
                    opened.callback(device.close)
                    device.start()
            finally:
                opened.callback(hub.close)  # before the devices, whose streams end with it
            self._kill_often(hub, devices, sessions, lark, show)
            is_true_within(
                lambda: lark.has_arrived(read_all(store, sessions[0])), SETTLE_TIMEOUT_SECONDS
            )
            self._settle(store, devices, sessions)
            self._check(store, devices, sessions, lark)
            self._result.hub_starts = hub.starts
        return self._result

    def _prepare(self, model_url: str, lark: LarkUser) -> None:
        self._repo.mkdir()
        write_sources(self._repo)
        chat_settings(self._user_data, model_url)
        path = self._user_data / "settings.json"
        settings = json.loads(path.read_text(encoding="utf-8"))
        agent = {"name": FOREIGN, "command": sys.executable, "args": [str(AGENT)]}
        settings |= {"agents": [agent], **lark.make_settings()}
        path.write_text(json.dumps(settings), encoding="utf-8")

    def _start_session(self, store: RemoteAgentSessions, number: int, agent: str) -> str:
        actor = Actor("cli", "campaign")
        new = NewSession(str(self._repo), actor, agent=agent, tag=f"campaign {number}")
        return store.start_session(new).id

    def _pair(self, hub: HubSupervisor) -> list[ResumingDevice]:
        if not is_true_within(hub.is_healthy, START_TIMEOUT_SECONDS):
            raise AssertionError("the hub does not start")
        with closing(HubDatabase(self._user_data)) as database:
            registry = DeviceRegistry(database)
            return [
                ResumingDevice(name, registry.add(name)[1], hub.url, allows=allows, seed=self._seed)
                for name, allows in (("phone", True), ("tablet", False))
            ]

    def _kill_often(
        self,
        hub: HubSupervisor,
        devices: list[ResumingDevice],
        sessions: list[str],
        lark: LarkUser,
        show: Callable[[str], object],
    ) -> None:
        senders = [
            threading.Thread(target=self._send_often, args=(each, sessions), daemon=True)
            for each in devices
        ]
        senders.append(threading.Thread(target=self._say_often, args=(lark,), daemon=True))
        for sender in senders:
            sender.start()
        try:
            while (done := self._result.kills.total()) < self._kills:
                pause_at_random(self._chance, MAX_PAUSE_SECONDS)
                target = self._chance.choice(TARGETS)
                if not self._kill(target, hub):
                    continue
                self._result.kills[target] += 1
                if self._chance.random() < DOUBLE_SHARE:
                    continue
                killed_at = time.monotonic()
                accepted = self._count_accepted(devices)
                if not is_true_within(
                    lambda before=accepted: self._count_accepted(devices) > before,  # type: ignore[misc]
                    START_TIMEOUT_SECONDS,
                ):
                    self._result.problems.append(f"after kill {done + 1} ({target}) nothing works")
                    return
                seconds = time.monotonic() - killed_at
                show(f"kill {done + 1}: {target}, a message is accepted after {seconds:.1f} s")
        finally:
            self._is_stopping = True
            for sender in senders:
                sender.join()

    def _kill(self, target: str, hub: HubSupervisor) -> bool:
        if target == "hub":
            return hub.kill()
        try:
            pid = int(SharedKernel(self._user_data).status()["pid"])
            if target == "kernel":
                os.kill(pid, signal.SIGKILL)
                return True
            agents = [
                each
                for each in psutil.Process(pid).children(recursive=True)
                if str(AGENT) in each.cmdline()
            ]
            if agents:
                self._chance.choice(agents).kill()
            return bool(agents)
        except (KernelError, OSError, psutil.Error):  # it died meanwhile
            return False

    def _count_accepted(self, devices: list[ResumingDevice]) -> int:
        return sum(len(each.record.accepted) for each in devices)

    def _send_often(self, device: ResumingDevice, sessions: list[str]) -> None:
        chance = random.Random(f"{self._seed} {device.name}")  # noqa: S311 - as above
        while not self._is_stopping:
            pause_at_random(chance, MAX_THINK_SECONDS)
            number = chance.randrange(len(sessions))
            waiting = [
                each for each in device.list_messages(sessions[number]) if each["invokedAt"] is None
            ]
            with suppress(GivenUp):
                if len(waiting) < MAX_WAITING:
                    self._send(device, sessions, number, asks=chance.random() < ASK_SHARE)
                own = [
                    each["localId"] for each in waiting if each["localId"] in device.record.accepted
                ]
                if own and chance.random() < TAKE_BACK_SHARE:
                    device.take_back(sessions[number], own[-1])

    def _say_often(self, lark: LarkUser) -> None:
        while not self._is_stopping:
            pause(SAY_INTERVAL_SECONDS)
            task = self._number_task()
            lark.say(task, make_task(SESSIONS[0], task, asks=False))

    def _number_task(self) -> int:
        with self._lock:
            self._next_task += 1
            return self._next_task

    def _send(self, device: ResumingDevice, sessions: list[str], number: int, *, asks: bool) -> int:
        """Send a task; return its number."""
        task = self._number_task()
        local_id = device.send(sessions[number], make_task(SESSIONS[number], task, asks=asks))
        self._tasks[local_id] = task
        return task

    def _settle(
        self, store: RemoteAgentSessions, devices: list[ResumingDevice], sessions: list[str]
    ) -> None:
        """Wait for the end of all turns, then ask each session something more."""

        def is_settled() -> bool:
            return not any(each.is_thinking or each.queued_count for each in store.list_sessions())

        for is_probe in (False, True):
            if is_probe:
                for number in range(len(sessions)):
                    task = self._send(devices[0], sessions, number, asks=False)
                    if not is_true_within(
                        lambda: task in dict(list_done(read_all(store, sessions[number]))),  # noqa: B023 - at once
                        SETTLE_TIMEOUT_SECONDS,
                    ):
                        self._result.problems.append(f"session {number} does not go on")
            if not is_true_within(is_settled, SETTLE_TIMEOUT_SECONDS):
                left = [
                    (each.agent, each.is_thinking, each.queued_count, len(each.permissions))
                    for each in store.list_sessions()
                ]
                self._result.problems.append(f"sessions are at work for ever: {left}")

    def _check(
        self,
        store: RemoteAgentSessions,
        devices: list[ResumingDevice],
        sessions: list[str],
        lark: LarkUser,
    ) -> None:
        result = self._result
        result.said_in_lark = lark.count
        records = [each.record for each in devices]
        gone = {local_id for record in records for local_id in record.taken_back}
        for session_id in sessions:
            accepted = {
                local_id: self._tasks[local_id]
                for record in records
                for local_id, owner in record.accepted.items()
                if owner == session_id
            }
            messages = read_all(store, session_id)
            if session_id == sessions[0]:
                result.problems += lark.add_accepted(messages, accepted)
                result.problems += lark.check_cards(messages, SETTLE_TIMEOUT_SECONDS)
            found = check_session(messages, accepted, gone)
            result.messages += len(accepted)
            result.answered += found.answered
            result.interrupted += found.interrupted
            result.problems += found.problems
            log = store.list_permissions(session_id)
            result.permissions.update(str(each.status) for each in log)
            result.problems += check_permissions(session_id, log, devices)
            result.problems += check_devices(messages, session_id, devices, SETTLE_TIMEOUT_SECONDS)
        for record in records:
            result.taken_back += len(record.taken_back)
            result.gaps += record.gaps
            result.resumes += record.resumes
            result.refusals.update(record.refusals)
