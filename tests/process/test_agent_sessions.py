"""Agent sessions over the endpoint of a shared kernel: devices, deaths of kernel and client."""

import json
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from codekernel.client.agent_sessions import RemoteAgentSessions
from codekernel.client.kernel_requests import KernelRequests
from codekernel.domain.agent_sessions import (
    META_NOTICE,
    NOTICE_INTERRUPTED,
    Actor,
    AgentSessionRecord,
    AgentSessions,
    CancelOutcome,
    Device,
    EventPosition,
    NewMessage,
    NewSession,
    PermissionAnswer,
    PermissionMode,
    PermissionStatus,
    SyncEvent,
    SyncEventKind,
)
from codekernel.domain.settings import OWN_AGENT
from codekernel.errors import InvalidPath, PermissionAnswered, SessionNotFound, WrongParam
from support.chat_server import (
    ChatServer,
    SetEvent,
    WaitForDisconnect,
    WaitForEvent,
    delta,
    end_reply,
    reply_calls,
    reply_text,
)
from support.command_line import Terminal
from support.conversation_client import chat_settings, write_sources
from support.polling import wait_until
from support.scripted_agent import DESK, PHONE, WAIT_SECONDS, text_of
from support.shared_kernel import ENVIRON, SharedKernel, is_running, set_variables

needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
SKIP = ("plan", {"action": "skip"})
RUN = ("run_command", {"command": "echo heard > heard.txt"})


@dataclass
class DeviceClient:
    """A device that follows everything."""

    sessions: RemoteAgentSessions
    events: "queue.SimpleQueue[SyncEvent]" = field(default_factory=queue.SimpleQueue)
    resumed: "queue.SimpleQueue[tuple[EventPosition, bool]]" = field(
        default_factory=queue.SimpleQueue
    )

    def follow(self, after: EventPosition | None = None) -> EventPosition:
        started = self.sessions.subscribe(
            self.events.put, after, lambda *told: self.resumed.put(told)
        )
        return started.position

    def wait_for(self, accepts: Callable[[SyncEvent], object]) -> SyncEvent:
        while True:
            event = self.events.get(timeout=WAIT_SECONDS)
            if accepts(event):
                return event

    def wait_for_permission(self, session_id: str) -> str:
        wait_until(lambda: self.sessions.get_session(session_id).pending_permissions)
        return self.sessions.get_session(session_id).pending_permissions[0].id

    def wait_until_idle(self, session_id: str) -> AgentSessionRecord:
        wait_until(lambda: is_idle(self.sessions.get_session(session_id)))
        return self.sessions.get_session(session_id)

    def list_texts(self, session_id: str) -> list[str]:
        return [text_of(each) for each in self.sessions.read_messages(session_id).messages]


def is_idle(record: AgentSessionRecord) -> bool:
    return not record.is_thinking and not record.queued_count


@pytest.fixture
def shared(
    user_data: Path, repo: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SharedKernel]:
    set_variables(monkeypatch)
    write_sources(repo)
    chat_settings(user_data, server.url)
    with SharedKernel(user_data) as kernel:
        yield kernel


def connect(user_data: Path) -> DeviceClient:
    return DeviceClient(RemoteAgentSessions(KernelRequests(user_data, "test")))


@pytest.fixture
def phone(shared: SharedKernel, user_data: Path) -> Iterator[DeviceClient]:
    device = connect(user_data)
    with closing(device.sessions):
        yield device


@pytest.fixture
def desk(phone: DeviceClient, user_data: Path) -> Iterator[DeviceClient]:
    device = connect(user_data)
    with closing(device.sessions):
        yield device


def start(device: DeviceClient, repo: Path, **fields: Any) -> AgentSessionRecord:
    return device.sessions.start_session(NewSession(str(repo), PHONE, **fields))


def send(device: DeviceClient, session_id: str, text: str, local_id: str = "") -> str:
    return device.sessions.send_message(session_id, NewMessage(text, PHONE, local_id)).id


def allow(actor: Actor, *, allowed: bool = True) -> PermissionAnswer:
    return PermissionAnswer(allowed, actor)


def test_a_phone_starts_an_agent_and_the_desk_sees_it(
    phone: DeviceClient, desk: DeviceClient, server: ChatServer, repo: Path
) -> None:
    plan = {"action": "create", "tasks": [{"id": 1, "desc": "look"}]}
    server.extend_script(
        reply_calls(
            ("plan", plan), ("plan", {"action": "update", "task_id": 1, "status": "completed"})
        ),
        reply_text("It is ", "a class."),
    )
    desk.follow()
    session = start(phone, repo, model="model")
    assert session.agent == OWN_AGENT
    send(phone, session.id, "What is in there?")
    added = desk.wait_for(lambda it: it.kind is SyncEventKind.SESSION_ADDED)
    assert added.session == session
    desk.wait_for(
        lambda it: (
            it.kind is SyncEventKind.MESSAGE_RECEIVED
            and it.message
            and text_of(it.message) == "It is a class."
        )
    )
    last = desk.wait_until_idle(session.id)
    assert last.name == "What is in there?"
    assert [(it.text, it.status) for it in last.plan] == [("look", "completed")]
    page = desk.sessions.read_messages(session.id, after_seq=1)
    assert [it.seq for it in page.messages] == list(range(2, last.last_seq + 1))
    machine = desk.sessions.get_machine()
    assert (machine.id, machine.folders) == (session.machine_id, (str(repo),))
    assert machine.agents[0].models == ("model",)


def test_the_values_of_the_interface_survive_the_wire(
    phone: DeviceClient, server: ChatServer, repo: Path
) -> None:
    server.extend_script(reply_text("Done."))
    sessions: AgentSessions = phone.sessions
    session = start(phone, repo, tag="once")
    assert start(phone, repo, tag="once") == session
    assert sessions.list_sessions() == [session]
    changed = sessions.update_session(
        session.id, name="n", permission_mode=PermissionMode.READ_ONLY, is_archived=True
    )
    assert (changed.name, changed.is_archived) == ("n", True)
    assert changed.permission_mode is PermissionMode.READ_ONLY
    assert sessions.get_session(session.id) == changed
    first = sessions.send_message(session.id, NewMessage("one", PHONE, "local"))
    assert sessions.send_message(session.id, NewMessage("two", DESK, "local")).id == first.id
    phone.wait_until_idle(session.id)
    assert sessions.cancel_message(session.id, first.id) is CancelOutcome.INVOKED
    sessions.stop_turn(session.id, DESK)
    sessions.delete_session(session.id)
    with pytest.raises(SessionNotFound):
        sessions.get_session(session.id)
    with pytest.raises(SessionNotFound):
        sessions.delete_session(session.id)
    with pytest.raises(InvalidPath):
        start(phone, repo / "nowhere")
    with pytest.raises(WrongParam):
        start(phone, repo, agent="nobody")


def test_any_device_answers_and_the_log_says_who_and_where(
    phone: DeviceClient, desk: DeviceClient, server: ChatServer, repo: Path
) -> None:
    server.extend_script(reply_calls(SKIP, RUN), reply_text("It ran."))
    session = start(phone, repo)
    send(phone, session.id, "run it")
    permission = desk.wait_for_permission(session.id)
    settled = desk.sessions.answer_permission(session.id, permission, allow(DESK))
    with pytest.raises(PermissionAnswered, match="Bob"):
        phone.sessions.answer_permission(session.id, permission, allow(PHONE, allowed=False))
    phone.wait_until_idle(session.id)
    assert (repo / "heard.txt").exists()
    assert phone.sessions.list_permissions(session.id) == [settled]
    assert (settled.answered_by, settled.danger) == (DESK, "runs")
    assert phone.list_texts(session.id)[-1] == "It ran."


def test_two_clients_answer_at_the_same_moment_200_times(
    phone: DeviceClient, desk: DeviceClient, server: ChatServer, repo: Path
) -> None:
    """In one turn after another; each permission has exactly one decision."""
    count, per_turn = 200, 20
    call = ("run_command", {"command": "true"})
    for _ in range(count // per_turn):
        server.extend_script(reply_calls(SKIP), *([reply_calls(call)] * per_turn), reply_text("k"))
    session = start(phone, repo)
    phone.follow()
    for number in range(count // per_turn):
        send(phone, session.id, f"turn {number}")
    winners: list[str] = []
    with ThreadPoolExecutor(2) as pool:

        def answer(device: DeviceClient, name: str, *, allowed: bool) -> str:
            together.wait(WAIT_SECONDS)
            actor = Actor(Device.TELEGRAM, str(allowed))
            try:
                device.sessions.answer_permission(session.id, name, allow(actor, allowed=allowed))
            except PermissionAnswered:
                return ""
            return actor.name

        asked: set[str] = set()
        while len(winners) < count:
            event = phone.wait_for(lambda it: it.session and it.session.pending_permissions)
            assert event.session is not None
            name = event.session.pending_permissions[0].id
            if name in asked:
                continue
            asked.add(name)
            together = threading.Barrier(2)
            told = (
                pool.submit(answer, phone, name, allowed=True),
                pool.submit(answer, desk, name, allowed=False),
            )
            (won,) = filter(None, (it.result() for it in told))
            winners.append(won)
    phone.wait_until_idle(session.id)
    log = phone.sessions.list_permissions(session.id)
    assert [it.answered_by.name for it in log if it.answered_by] == winners
    assert [str(it.status is PermissionStatus.APPROVED) for it in log] == winners


def test_an_agent_outlives_the_client_that_began_it(
    shared: SharedKernel, server: ChatServer, user_data: Path, repo: Path
) -> None:
    server.extend_script(reply_calls(SKIP, RUN), reply_text("It ran."))
    first = connect(user_data)
    session = start(first, repo)
    send(first, session.id, "run it")
    permission = first.wait_for_permission(session.id)
    first.sessions.close()
    pid = shared.status()["pid"]
    later = connect(user_data)
    with closing(later.sessions):
        assert shared.status()["pid"] == pid
        later.sessions.answer_permission(session.id, permission, allow(DESK))
        later.wait_until_idle(session.id)
        assert later.list_texts(session.id)[-1] == "It ran."


def test_a_killed_kernel_is_replaced_and_the_queue_goes_on(
    shared: SharedKernel, phone: DeviceClient, server: ChatServer, repo: Path
) -> None:
    begun = threading.Event()
    server.extend_script(
        [delta(content="I "), SetEvent(begun), WaitForDisconnect()], reply_text("Second.")
    )
    phone.follow()
    session = start(phone, repo)
    send(phone, session.id, "first")
    assert begun.wait(WAIT_SECONDS)
    send(phone, session.id, "second", "local")
    shared.kill()
    _, is_resumed = phone.resumed.get(timeout=WAIT_SECONDS)
    assert not is_resumed
    phone.wait_until_idle(session.id)
    messages = phone.sessions.read_messages(session.id).messages
    assert [it.seq for it in messages] == [1, 2, 3, 4]
    assert messages[2].message.meta[META_NOTICE] == NOTICE_INTERRUPTED
    assert text_of(messages[3]) == "Second."


def test_a_permission_is_cancelled_by_the_death_of_the_kernel(
    shared: SharedKernel, phone: DeviceClient, server: ChatServer, repo: Path
) -> None:
    server.extend_script(reply_calls(SKIP, RUN))
    session = start(phone, repo)
    send(phone, session.id, "run it")
    permission = phone.wait_for_permission(session.id)
    shared.kill()
    phone.wait_until_idle(session.id)
    with pytest.raises(PermissionAnswered, match="ended"):
        phone.sessions.answer_permission(session.id, permission, allow(PHONE))
    assert not (repo / "heard.txt").exists()


def test_a_subscription_goes_on_from_a_position(
    phone: DeviceClient, desk: DeviceClient, server: ChatServer, repo: Path
) -> None:
    server.extend_script(reply_text("Done."))
    position = phone.follow()
    session = start(phone, repo)
    send(phone, session.id, "hello")
    phone.wait_until_idle(session.id)
    told = [phone.events.get(timeout=WAIT_SECONDS)]
    while not (told[-1].session and told[-1].session.last_seq > 1 and is_idle(told[-1].session)):
        told.append(phone.events.get(timeout=WAIT_SECONDS))
    numbered = [it for it in told if it.id]
    assert [it.id for it in numbered] == list(
        range(position.id + 1, position.id + 1 + len(numbered))
    )
    assert desk.follow(position) == position
    assert [desk.events.get(timeout=WAIT_SECONDS) for _ in numbered] == numbered


def test_a_growing_answer_is_told_while_it_grows(
    phone: DeviceClient, server: ChatServer, repo: Path
) -> None:
    seen = threading.Event()
    server.extend_script([delta(content="It grows"), WaitForEvent(seen), *end_reply()])
    phone.follow()
    session = start(phone, repo)
    send(phone, session.id, "grow")
    growing = phone.wait_for(lambda it: it.kind is SyncEventKind.MESSAGE_GROWING).message
    seen.set()
    assert growing is not None
    assert (growing.seq, text_of(growing)) == (0, "It grows")
    phone.wait_until_idle(session.id)
    whole = phone.sessions.read_messages(session.id).messages[-1]
    assert (whole.id, text_of(whole)) == (growing.id, "It grows")


@needs_terminal
def test_a_permission_waits_for_any_device_when_its_terminal_is_killed(
    shared: SharedKernel, server: ChatServer, user_data: Path, repo: Path
) -> None:
    """The kernel leaves at once without a client, but not while an agent waits."""
    server.extend_script(reply_calls(SKIP, RUN), reply_text("It ran."))
    settings = json.loads((user_data / "settings.json").read_bytes())
    settings["kernel"] = {"idleMinutes": 0}
    (user_data / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    with Terminal(user_data, repo, "agent", "run it", **ENVIRON) as terminal:
        terminal.read_until(lambda text: "Allow it?" in text)
        pid = shared.status()["pid"]
        terminal.process.kill()
    wait_until(lambda: "agent" not in [each["name"] for each in shared.status()["clients"]])
    later = connect(user_data)
    with closing(later.sessions):
        assert shared.status()["pid"] == pid
        (session,) = later.sessions.list_sessions()
        (permission,) = session.pending_permissions
        assert later.sessions.read_messages(session.id).messages[0].actor.device == Device.TERMINAL
        later.sessions.answer_permission(session.id, permission.id, allow(PHONE))
        later.wait_until_idle(session.id)
        assert later.list_texts(session.id)[-1] == "It ran."
    assert (repo / "heard.txt").exists()
    wait_until(lambda: not is_running(pid))


@needs_terminal
def test_a_terminal_says_who_has_answered_elsewhere(
    shared: SharedKernel, server: ChatServer, user_data: Path, repo: Path
) -> None:
    server.extend_script(reply_calls(SKIP, RUN), reply_text("It ran."))
    with Terminal(user_data, repo, "agent", "run it", **ENVIRON) as terminal:
        terminal.read_until(lambda text: "Allow it?" in text)
        device = connect(user_data)
        with closing(device.sessions):
            (session,) = device.sessions.list_sessions()
            permission = session.pending_permissions[0].id
            device.sessions.answer_permission(session.id, permission, allow(PHONE))
        terminal.type("\n")
        code, text = terminal.finish()
    assert (code, "allowed by Ann (lark)" in text, "It ran." in text) == (0, True, True)


def test_a_mode_says_what_is_asked_for(phone: DeviceClient, server: ChatServer, repo: Path) -> None:
    make = ("create_file", {"path": "made.txt", "content": "new"})
    server.extend_script(
        reply_calls(SKIP, make), reply_text("Refused."), reply_calls(make, RUN), reply_text("Ran.")
    )
    session = start(phone, repo, permission_mode=PermissionMode.READ_ONLY)
    send(phone, session.id, "make it")
    permission = phone.wait_for_permission(session.id)
    phone.sessions.answer_permission(session.id, permission, allow(PHONE, allowed=False))
    phone.wait_until_idle(session.id)
    assert not (repo / "made.txt").exists()
    phone.sessions.update_session(session.id, permission_mode=PermissionMode.ALLOW_ALL)
    send(phone, session.id, "make it and run it")
    phone.wait_until_idle(session.id)
    assert (repo / "made.txt").exists()
    assert (repo / "heard.txt").exists()
    log = phone.sessions.list_permissions(session.id)
    assert [(it.danger, it.status) for it in log] == [
        ("writes", PermissionStatus.DENIED),
        ("runs", PermissionStatus.APPROVED),
    ]


def test_a_repository_that_is_deleted_ends_its_agent(
    shared: SharedKernel, phone: DeviceClient, server: ChatServer, repo: Path
) -> None:
    server.extend_script(reply_calls(SKIP, RUN))
    session = start(phone, repo)
    send(phone, session.id, "run it")
    phone.wait_for_permission(session.id)
    with shared.connect() as connection:
        connection.request("deleteRepo", {"repoName": repo.name})
    last = phone.wait_until_idle(session.id)
    assert last.pending_permissions == ()
    messages = phone.sessions.read_messages(session.id).messages
    assert messages[-1].message.meta[META_NOTICE] == NOTICE_INTERRUPTED
