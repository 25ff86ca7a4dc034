"""A hub on a real port over a real engine, and devices that use it."""

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.hub.devices import AddressRules
from codekernel.adapters.hub.events import DEFAULT_EVENT_LIMITS, EventLimits
from codekernel.adapters.hub.server import HEAD_TIMEOUT_SECONDS, HubPort
from codekernel.adapters.hub.service import ChatAdapter, HubService
from codekernel.adapters.static_pages import StaticPages, find_pages_folder
from codekernel.transport.listener import open_listening_socket

from support.scripted_agent import WAIT_SECONDS, EngineWorld, ScriptedAgent, open_world

HOST = "127.0.0.1"
Json = dict[str, Any]


@dataclass
class DeviceClient:
    """A paired device with a token."""

    http: httpx.Client
    key: str
    token: str

    def get(self, address: str, **query: Any) -> Json:
        response = self.http.get(address, params=query)
        assert response.status_code == 200, response.text
        return as_json(response)

    def post(self, path: str, body: Json | None = None) -> Json:
        response = self.http.post(path, json=body or {})
        assert response.status_code == 200, response.text
        return as_json(response)

    def refuse(self, method: str, path: str, body: Json | None = None) -> tuple[int, str]:
        """Return the status and the code of a request that is refused."""
        response = self.http.request(method, path, json=body)
        answer = as_json(response)
        assert answer["error"]
        return response.status_code, answer["code"]


def as_json(response: httpx.Response) -> Json:
    value: Json = response.json()
    return value


@dataclass(frozen=True)
class ServerSentEvent:
    id: str
    data: Json

    @property
    def type(self) -> str:
        return str(self.data["type"])


class EventStream:
    """The events of a device, read on a thread of its own."""

    def __init__(self, device: DeviceClient, last_id: str = "", **query: str) -> None:
        self.events: queue.SimpleQueue[ServerSentEvent | None] = queue.SimpleQueue()
        self.last_id = last_id
        headers = {"Last-Event-ID": last_id} if last_id else {}
        request = device.http.build_request("GET", "/api/events", params=query, headers=headers)
        self._response = device.http.send(request, stream=True)
        assert self._response.status_code == 200, self._response.read()
        threading.Thread(target=self._read, daemon=True).start()
        self.first = self.take()
        assert self.first.type == "connection-changed"

    def take(self) -> ServerSentEvent:
        event = self.events.get(timeout=WAIT_SECONDS)
        assert event is not None, "the stream has ended"
        self.last_id = event.id or self.last_id
        return event

    def wait_for(self, accepts: Callable[[ServerSentEvent], bool]) -> ServerSentEvent:
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:  # heartbeats come in any case
            event = self.take()
            if accepts(event):
                return event
        raise AssertionError("it was never told")

    def wait_for_type(self, wanted: str) -> ServerSentEvent:
        return self.wait_for(lambda event: event.type == wanted)

    def wait_for_end(self) -> None:
        while self.events.get(timeout=WAIT_SECONDS) is not None:
            pass

    def close(self) -> None:
        self._response.close()

    def _read(self) -> None:
        event_id = ""
        try:
            for line in self._response.iter_lines():
                if line.startswith("id: "):
                    event_id = line.removeprefix("id: ")
                elif line.startswith("data: "):
                    data = json.loads(line.removeprefix("data: "))
                    self.events.put(ServerSentEvent(event_id, data))
                    event_id = ""
        except (httpx.HTTPError, OSError, ValueError):
            pass
        self.events.put(None)


@dataclass
class HubWorld:
    """A hub that runs, its database and the engine of its own machine."""

    service: HubService
    database: HubDatabase
    world: EngineWorld
    url: str
    _clients: list[httpx.Client] = field(default_factory=list)

    def open_client(self, **options: Any) -> httpx.Client:
        client = httpx.Client(base_url=self.url, timeout=WAIT_SECONDS, trust_env=False, **options)
        self._clients.append(client)
        return client

    def pair(self, name: str = "phone") -> DeviceClient:
        """Pair a device as a phone does: with a code, then with its key."""
        code = self.service.context.pairing.make_code()
        http = self.open_client()
        answer = as_json(http.post("/api/pair", json={"code": code, "name": name}))
        return self.sign_in(http, answer["accessToken"])

    def sign_in(self, http: httpx.Client, key: str) -> DeviceClient:
        token = as_json(http.post("/api/auth", json={"accessToken": key}))["token"]
        http.headers["Authorization"] = f"Bearer {token}"
        return DeviceClient(http, key, token)

    def close(self) -> None:
        for client in self._clients:
            client.close()


@contextmanager
def open_hub(
    user_data: Path,
    agent: ScriptedAgent | None = None,
    **options: Any,
) -> Iterator[HubWorld]:
    """Run a hub over an engine of this process; the options are those of ``serve_hub``."""
    with (
        open_world(user_data, agent) as world,
        serve_hub(user_data, **options) as service,
    ):
        service.table.attach(world.engine)
        port = service.context.rules.port
        hub = HubWorld(service, HubDatabase(user_data), world, f"http://{HOST}:{port}")
        try:
            yield hub
        finally:
            hub.close()


@contextmanager
def serve_hub(
    user_data: Path,
    origins: tuple[str, ...] = (),
    chats: tuple[ChatAdapter, ...] = (),
    limits: EventLimits = DEFAULT_EVENT_LIMITS,
    head_timeout_seconds: float = HEAD_TIMEOUT_SECONDS,
) -> Iterator[HubService]:
    """Run a hub without a machine, on a thread."""
    listening = open_listening_socket(HOST, 0)
    port = listening.getsockname()[1]
    rules = AddressRules.build(port, origins=origins)
    hub_port = HubPort(listening, rules, head_timeout_seconds=head_timeout_seconds)
    pages = StaticPages(find_pages_folder())
    service = HubService(HubDatabase(user_data), hub_port, pages, chats, limits)
    thread = threading.Thread(target=service.run, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.stop()
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()
