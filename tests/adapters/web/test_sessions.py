"""Sessions of tabs through crashes and departures, with a real kernel in this process."""

import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.web.kernel_client import CallFailed, KernelClient
from codekernel.adapters.web.sessions import MAX_CONSECUTIVE_REOPENS, TabSessions
from codekernel.app import Kernel
from codekernel.protocol.envelope import MAIN_SESSION_ID
from codekernel.storage.user_data import UserData
from codekernel.transport.channels import MemoryChannel

PATIENCE_SECONDS = 20


class Visitor:
    """A tab that keeps what it is told."""

    def __init__(self) -> None:
        self.told: queue.Queue[dict[str, Any]] = queue.Queue()

    def send_event(self, event: dict[str, Any]) -> None:
        self.told.put(event)

    def send_file_status(self, message: dict[str, Any]) -> None:
        pass

    def next(self) -> dict[str, Any]:
        return self.told.get(timeout=PATIENCE_SECONDS)


class InProcess:
    """A kernel behind a channel, and the sessions that the door keeps."""

    def __init__(self, user_data: Path, linger_seconds: float) -> None:
        channel = MemoryChannel()
        self.kernel = Kernel(UserData(user_data), {"CODEKERNEL_VAULT_KEY": "a" * 64}, channel)
        self.exchange = KernelClient(channel)
        self.sessions = TabSessions(self.exchange, linger_seconds)
        self.codes: list[int] = []
        self._threads = [
            threading.Thread(target=lambda: self.codes.append(self.kernel.run())),
            threading.Thread(target=lambda: self.exchange.run(self.sessions.on_message)),
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self.kernel.stop()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)

    def register(self, repo: Path) -> None:
        fields = {"repoName": repo.name, "path": str(repo)}
        self.exchange.request(MAIN_SESSION_ID, "createRepo", fields)

    def crash(self, session_id: int) -> None:
        session = self.kernel._services.supervisor.find(session_id)
        assert session
        session._handle_crash(RuntimeError("boom"))

    def is_open(self, session_id: int) -> bool:
        return self.kernel._services.supervisor.find(session_id) is not None


@pytest.fixture
def house(user_data: Path, repo: Path) -> Iterator[InProcess]:
    running = InProcess(user_data, linger_seconds=60)
    running.register(repo)
    yield running
    running.stop()
    assert running.codes == [0]


@pytest.fixture
def hasty_house(user_data: Path, repo: Path) -> Iterator[InProcess]:
    running = InProcess(user_data, linger_seconds=0.05)
    running.register(repo)
    yield running
    running.stop()


def test_a_session_that_crashed_is_opened_again(house: InProcess) -> None:
    tab = Visitor()
    house.sessions.open(tab, "demo")
    assert tab.next() == {"type": "sessionPrepared"}
    house.crash(house.sessions.get_session(tab).id)
    crashed = tab.next()
    assert crashed["type"] == "sessionCrashed"
    assert crashed["failure"]["code"] == "SESSION_NOT_FOUND"
    assert "boom" in crashed["failure"]["message"]
    assert tab.next() == {"type": "sessionPrepared"}
    assert house.exchange.request(house.sessions.get_session(tab).id, "getIndexStatus")


def test_one_that_crashes_again_and_again_is_lost_until_it_is_asked_for(house: InProcess) -> None:
    tab = Visitor()
    house.sessions.open(tab, "demo")
    for _ in range(MAX_CONSECUTIVE_REOPENS):
        assert tab.next()["type"] == "sessionPrepared"
        house.crash(house.sessions.get_session(tab).id)
        assert tab.next()["type"] == "sessionCrashed"
    assert tab.next()["type"] == "sessionPrepared"
    house.crash(house.sessions.get_session(tab).id)
    assert tab.next()["type"] == "sessionLost"
    house.sessions.open(tab, "demo")
    assert tab.next()["type"] == "sessionPrepared"


def test_a_repository_that_is_gone_after_the_crash_is_lost_with_the_reason(
    house: InProcess, repo: Path
) -> None:
    tab = Visitor()
    house.sessions.open(tab, "demo")
    assert tab.next()["type"] == "sessionPrepared"
    repo.rmdir()
    house.crash(house.sessions.get_session(tab).id)
    assert tab.next()["type"] == "sessionCrashed"
    lost = tab.next()
    assert (lost["type"], lost["failure"]["code"]) == ("sessionLost", "REPO_NOT_EXIST")


def test_a_session_that_was_left_behind_is_the_next_tabs(house: InProcess) -> None:
    tab, next_tab = Visitor(), Visitor()
    house.sessions.open(tab, "demo")
    assert tab.next()["type"] == "sessionPrepared"
    before = house.sessions.get_session(tab).id
    house.sessions.detach(tab)
    with pytest.raises(CallFailed, match="no repository open"):
        house.sessions.get_session(tab)
    assert house.sessions.open(next_tab, "demo")["state"] == "prepared"
    assert house.sessions.get_session(next_tab).id == before


def test_one_that_nobody_comes_back_for_is_closed(hasty_house: InProcess) -> None:
    tab = Visitor()
    hasty_house.sessions.open(tab, "demo")
    left = hasty_house.sessions.get_session(tab).id
    closed = threading.Event()
    close = hasty_house.sessions._close_session

    def noticed(session: Any) -> None:
        close(session)
        closed.set()

    hasty_house.sessions._close_session = noticed  # type: ignore[method-assign]
    hasty_house.sessions.detach(tab)
    assert closed.wait(PATIENCE_SECONDS)
    assert not hasty_house.is_open(left)


def test_a_repository_opened_ahead_goes_to_the_first_tab(house: InProcess) -> None:
    assert house.sessions.open_in_advance("demo")
    assert not house.sessions.open_in_advance("demo")
    first, second = Visitor(), Visitor()
    house.sessions.open(first, "demo")
    house.sessions.open(second, "demo")
    assert (house.sessions.get_session(first).id, house.sessions.get_session(second).id) == (1, 2)


def test_after_the_end_every_question_is_refused(user_data: Path, repo: Path) -> None:
    running = InProcess(user_data, linger_seconds=60)
    running.stop()
    with pytest.raises(CallFailed) as refused:
        running.exchange.request(MAIN_SESSION_ID, "getRepos")
    assert refused.value.code == "KERNEL_STOPPED"


def test_a_kernel_that_has_the_ready_line_confirmed_waits_for_nothing(house: InProcess) -> None:
    house.exchange.request(MAIN_SESSION_ID, "getRepos")
    assert house.kernel._pending.seconds_to_next_deadline() is None
