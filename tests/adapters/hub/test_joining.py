"""Another machine: a real kernel that dials a hub, beside the engine of the hub's own machine."""

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from codekernel.adapters.hub.devices import DeviceKind
from codekernel.adapters.hub.joining import (
    ALLOWED_MESSAGES,
    HubAddress,
    JoinRefused,
    MachineJoiner,
)
from codekernel.adapters.hub.machine_table import MACHINE_TIMEOUT_SECONDS, AttachedMachine
from codekernel.client.agent_sessions import RemoteAgentSessions
from codekernel.client.launcher import connect_to_kernel
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import WrongParam
from codekernel.protocol.envelope import Message
from codekernel.protocol.messages import agent_sessions
from support.chat_server import ChatServer, reply_text
from support.conversation_client import chat_settings, write_sources
from support.hub_world import DeviceClient, EventStream, HubWorld
from support.polling import pause, wait_until
from support.scripted_agent import WAIT_SECONDS
from support.shared_kernel import SharedKernel, set_variables


@dataclass
class Laptop:
    """The other machine."""

    user_data: Path
    repo: Path
    kernel: SharedKernel
    server: ChatServer
    keys: list[str] = field(default_factory=list)
    reports: "queue.SimpleQueue[str]" = field(default_factory=queue.SimpleQueue)

    def make_joiner(self, hub: HubWorld) -> MachineJoiner:
        return MachineJoiner(
            HubAddress.from_url(hub.url),
            "laptop",
            lambda: connect_to_kernel(self.user_data),
            on_paired=self.keys.append,
            report=self.reports.put,
        )

    @contextmanager
    def joined(self, hub: HubWorld, code: str = "") -> Iterator[None]:
        """Join with a code, or with the key of an earlier time."""
        stop = CancelToken()
        run = self.make_joiner(hub).run
        secret = code or self.keys[-1]
        thread = threading.Thread(
            target=run, args=(secret, stop), kwargs={"is_code": bool(code)}, daemon=True
        )
        thread.start()
        wait_until(lambda: self.is_connected(hub))
        try:
            yield
        finally:
            stop.cancel()
            thread.join(WAIT_SECONDS)
            assert not thread.is_alive()
            wait_until(lambda: not self.is_connected(hub))

    def find_entry(self, hub: HubWorld) -> AttachedMachine | None:
        found = hub.service.table._machines.values()
        return next((each for each in found if each.owner), None)

    def is_connected(self, hub: HubWorld) -> bool:
        entry = self.find_entry(hub)
        return entry is not None and entry.sessions is not None

    def spawn(self, phone: DeviceClient) -> str:
        found = phone.get("/api/machines")["machines"]
        folder = str(self.repo)
        machine = next(it for it in found if folder in it["metadata"]["workspaceRoots"])
        answer = phone.post(f"/api/machines/{machine['id']}/spawn", {"directory": folder})
        assert answer["type"] == "success", answer
        return str(answer["sessionId"])


@pytest.fixture
def laptop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Laptop]:
    set_variables(monkeypatch)
    user_data, repo = tmp_path / "laptop", tmp_path / "work"
    user_data.mkdir()
    repo.mkdir()
    write_sources(repo)
    with ChatServer() as server, SharedKernel(user_data) as kernel:
        chat_settings(user_data, server.url)
        with kernel.connect(may_start=True) as connection:
            connection.request("createRepo", {"repoName": "work", "path": str(repo)})
        yield Laptop(user_data, repo, kernel, server)


def test_a_phone_uses_the_agents_of_another_machine(
    hub: HubWorld, phone: DeviceClient, laptop: Laptop
) -> None:
    stream = EventStream(phone, all="1")
    with laptop.joined(hub, hub.service.context.pairing.make_code()):
        laptop.server.extend_script(reply_text("It is a class."), reply_text("Welcome back."))
        session_id = laptop.spawn(phone)
        assert stream.wait_for_type("session-added").data["sessionId"] == session_id
        path = f"/api/sessions/{session_id}"
        phone.post(f"{path}/messages", {"text": "What is it?", "localId": "l1"})
        stream.wait_for(
            lambda it: it.type == "message-received" and "It is a class." in str(it.data)
        )
        messages = phone.get(f"{path}/messages")["messages"]
        assert messages[0]["localId"] == "l1"
        entries = phone.get(f"{path}/directory")["entries"]
        assert entries
        own = hub.world.start()
        assert {each["id"] for each in phone.get("/api/sessions")["sessions"]} == {
            session_id,
            own.id,
        }
    # Its sessions are still listed while it is away, and cannot be used.
    away = phone.get(path)["session"]
    assert not away["active"]
    refused = phone.refuse("POST", f"{path}/messages", {"text": "x"})
    assert refused == (409, "session_inactive")
    assert phone.get(f"{path}/directory")["success"] is False
    with laptop.joined(hub):
        assert phone.get(path)["session"]["active"]
        phone.post(f"{path}/messages", {"text": "again", "localId": "l2"})
        stream.wait_for(lambda it: "Welcome back." in str(it.data))


def test_what_happens_while_a_machine_is_away_is_told_later(
    hub: HubWorld, phone: DeviceClient, laptop: Laptop
) -> None:
    with laptop.joined(hub, hub.service.context.pairing.make_code()):
        session_id = laptop.spawn(phone)
    stream = EventStream(phone, all="1")
    with laptop.kernel.connect() as desk:
        desk.request("updateAgentSession", {"id": session_id, "name": "renamed"})
    with laptop.joined(hub):
        patched = stream.wait_for(lambda it: "renamed" in str(it.data)).data
        assert patched["sessionId"] == session_id


def test_a_kernel_that_dies_is_followed_again(
    hub: HubWorld, phone: DeviceClient, laptop: Laptop
) -> None:
    with laptop.joined(hub, hub.service.context.pairing.make_code()):
        session_id = laptop.spawn(phone)
        stream = EventStream(phone, all="1")
        laptop.kernel.kill()
        stream.wait_for_type("machine-updated")
        wait_until(lambda: laptop.is_connected(hub))
        laptop.server.extend_script(reply_text("Still here."))
        path = f"/api/sessions/{session_id}"
        wait_until(lambda: phone.get(path)["session"]["active"])
        phone.post(f"{path}/messages", {"text": "there?", "localId": "l1"})
        answer = stream.wait_for(lambda it: "Still here." in str(it.data))
        assert answer.data["sessionId"] == session_id


def test_a_machine_that_is_not_heard_of_is_shown_as_away(
    hub: HubWorld, phone: DeviceClient, laptop: Laptop
) -> None:
    with laptop.joined(hub, hub.service.context.pairing.make_code()):
        session_id = laptop.spawn(phone)
        stream = EventStream(phone, all="1")
    hub.service.table._clock = lambda: time.monotonic() + MACHINE_TIMEOUT_SECONDS
    while stream.wait_for_type("machine-updated").data["data"]["active"]:
        pass  # what was told of it when it joined
    inactive = stream.wait_for_type("session-updated").data
    assert (inactive["sessionId"], inactive["data"]["active"]) == (session_id, False)
    assert len(phone.get("/api/machines")["machines"]) == 1


def test_a_revoked_machine_is_cut_off_and_refused(
    hub: HubWorld, phone: DeviceClient, laptop: Laptop
) -> None:
    with laptop.joined(hub, hub.service.context.pairing.make_code()):
        session_id = laptop.spawn(phone)
    stream = EventStream(phone, all="1")
    assert hub.service.context.devices.revoke("laptop")
    stream.wait_for_type("session-removed")
    assert phone.refuse("GET", f"/api/sessions/{session_id}") == (404, "session_not_found")
    with pytest.raises(JoinRefused, match="revoked"):
        laptop.make_joiner(hub).run(laptop.keys[-1], CancelToken())


def test_wrong_codes_and_keys_of_devices_are_refused(
    hub: HubWorld, phone: DeviceClient, laptop: Laptop
) -> None:
    joiner = laptop.make_joiner(hub)
    with pytest.raises(JoinRefused):
        joiner.run("AAAA-BBBB-CCCC-DDDD", CancelToken(), is_code=True)
    with pytest.raises(JoinRefused):
        joiner.run(phone.key, CancelToken())
    # A machine's key is no key of a device, either.
    _, key = hub.service.context.devices.add("x", DeviceKind.MACHINE)
    response = hub.open_client().post("/api/auth", json={"accessToken": key})
    assert response.status_code == 401


def test_a_hub_may_ask_about_agent_sessions_alone(hub: HubWorld, laptop: Laptop) -> None:
    with laptop.joined(hub, hub.service.context.pairing.make_code()):
        entry = laptop.find_entry(hub)
        assert entry is not None
        sessions = entry.sessions
        assert isinstance(sessions, RemoteAgentSessions)
        requests = sessions._requests
        for kind in ("getApiKey", "stopAll", "createRepo", "getSettings", "openFolder"):
            with pytest.raises(WrongParam, match="alone"):
                requests.request(kind, {"name": "model"})
        assert sessions.get_machine().folders == (str(laptop.repo),)


def test_every_message_about_agent_sessions_was_thought_of() -> None:
    declared = {
        each.__struct_config__.tag
        for each in vars(agent_sessions).values()
        if isinstance(each, type) and issubclass(each, Message) and each is not Message
    }
    assert declared == ALLOWED_MESSAGES


def test_addresses_of_hubs() -> None:
    secure = HubAddress.from_url("https://hub.example")
    assert (secure.authority, secure.port, secure.is_secure) == ("hub.example", 443, True)
    assert HubAddress.from_url("http://127.0.0.1:8790/").authority == "127.0.0.1:8790"
    assert HubAddress.from_url("https://[::1]:8790").authority == "[::1]:8790"
    for wrong in ("http://hub.example", "ftp://x", "hub", "", "https://", "https://x:y"):
        with pytest.raises(WrongParam):
            HubAddress.from_url(wrong)


@pytest.mark.parametrize("head_timeout_seconds", [1.0])
def test_a_connection_of_a_machine_outlasts_the_time_for_a_request(
    hub: HubWorld, laptop: Laptop
) -> None:
    with laptop.joined(hub, hub.service.context.pairing.make_code()):
        entry = laptop.find_entry(hub)
        assert entry is not None
        connected = entry.sessions
        assert connected is not None
        pause(1.5)  # longer than the limit
        assert entry.sessions is connected
        assert connected.get_machine().id == entry.record.id
