"""Sessions of tabs through crashes and departures, with a real kernel in this process."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.web.kernel_client import CallFailed, KernelClient
from codekernel.adapters.web.outbox import Outbox
from codekernel.adapters.web.page_api import MAX_CONSECUTIVE_RESTARTS
from codekernel.adapters.web.sessions import TabSessions
from codekernel.app import Kernel
from codekernel.protocol import MAIN_SESSION_ID
from codekernel.runtime.sessions import Session
from codekernel.storage.user_data import UserData
from codekernel.transport.lines import MemoryChannel

PATIENCE_SECONDS = 60


def next_event(tab: Outbox) -> dict[str, Any]:
    """Return the next event of a tab; statuses of files are left out."""
    for text in tab:
        assert isinstance(text, str)
        event: dict[str, Any] = json.loads(text)["event"]
        if event["type"] != "embeddingStatus":
            return event
    raise AssertionError("the tab was closed")


class InProcess:
    """A kernel behind a channel, and the sessions of its tabs."""

    def __init__(self, user_data: Path, linger_seconds: float) -> None:
        channel = MemoryChannel()
        self.kernel = Kernel(UserData(user_data), {"CODEKERNEL_VAULT_KEY": "a" * 64}, channel)
        self.client = KernelClient(channel)
        self.sessions = TabSessions(self.client, linger_seconds)
        self.codes: list[int] = []
        self._threads = [
            threading.Thread(target=lambda: self.codes.append(self.kernel.run())),
            threading.Thread(target=lambda: self.client.run(self.sessions.on_message)),
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self.kernel.stop()
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)

    def register(self, repo: Path) -> None:
        fields = {"repoName": repo.name, "path": str(repo)}
        self.client.request(MAIN_SESSION_ID, "createRepo", fields)

    def crash(self, session_id: int) -> None:
        session = self._find(session_id)
        assert session
        session._handle_crash(RuntimeError("boom"))

    def is_open(self, session_id: int) -> bool:
        return self._find(session_id) is not None

    def _find(self, session_id: int) -> Session | None:
        sessions = self.kernel._services.sessions.list_sessions()
        return next((each for each in sessions if each.id == session_id), None)


@pytest.fixture
def host(user_data: Path, repo: Path) -> Iterator[InProcess]:
    running = InProcess(user_data, linger_seconds=60)
    running.register(repo)
    yield running
    running.stop()
    assert running.codes == [0]


@pytest.fixture
def hasty_host(user_data: Path, repo: Path) -> Iterator[InProcess]:
    running = InProcess(user_data, linger_seconds=0.05)
    running.register(repo)
    yield running
    running.stop()


def test_a_session_that_crashed_is_opened_again(host: InProcess) -> None:
    tab = Outbox()
    host.sessions.open(tab, "demo")
    assert next_event(tab) == {"type": "sessionPrepared", "repoName": "demo"}
    host.crash(host.sessions.get_session(tab).id)
    crashed = next_event(tab)
    assert crashed["type"] == "sessionCrashed"
    assert crashed["failure"]["code"] == "SESSION_NOT_FOUND"
    assert "boom" in crashed["failure"]["message"]
    assert next_event(tab) == {"type": "sessionPrepared", "repoName": "demo"}
    assert host.client.request(host.sessions.get_session(tab).id, "getIndexStatus")


def test_one_that_crashes_again_and_again_is_lost_until_it_is_asked_for(host: InProcess) -> None:
    tab = Outbox()
    host.sessions.open(tab, "demo")
    for _ in range(MAX_CONSECUTIVE_RESTARTS):
        assert next_event(tab)["type"] == "sessionPrepared"
        host.crash(host.sessions.get_session(tab).id)
        assert next_event(tab)["type"] == "sessionCrashed"
    assert next_event(tab)["type"] == "sessionPrepared"
    host.crash(host.sessions.get_session(tab).id)
    assert next_event(tab)["type"] == "sessionLost"
    host.sessions.open(tab, "demo")
    assert next_event(tab)["type"] == "sessionPrepared"


def test_a_repository_that_is_gone_after_the_crash_is_lost_with_the_reason(
    host: InProcess, repo: Path
) -> None:
    tab = Outbox()
    host.sessions.open(tab, "demo")
    assert next_event(tab)["type"] == "sessionPrepared"
    repo.rmdir()
    host.crash(host.sessions.get_session(tab).id)
    assert next_event(tab)["type"] == "sessionCrashed"
    lost = next_event(tab)
    assert (lost["type"], lost["failure"]["code"]) == ("sessionLost", "REPO_NOT_EXIST")


def test_a_session_that_was_left_behind_is_the_next_tabs(host: InProcess) -> None:
    tab, next_tab = Outbox(), Outbox()
    host.sessions.open(tab, "demo")
    assert next_event(tab)["type"] == "sessionPrepared"
    before = host.sessions.get_session(tab).id
    host.sessions.detach(tab)
    with pytest.raises(CallFailed, match="no repository open"):
        host.sessions.get_session(tab)
    assert host.sessions.open(next_tab, "demo")["state"] == "prepared"
    assert host.sessions.get_session(next_tab).id == before


def test_one_that_nobody_comes_back_for_is_closed(
    hasty_host: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab = Outbox()
    hasty_host.sessions.open(tab, "demo")
    left = hasty_host.sessions.get_session(tab).id
    closed = threading.Event()
    close = hasty_host.sessions._close_session

    def noticed(session: Any) -> None:
        close(session)
        closed.set()

    monkeypatch.setattr(hasty_host.sessions, "_close_session", noticed)
    hasty_host.sessions.detach(tab)
    assert closed.wait(PATIENCE_SECONDS)
    assert not hasty_host.is_open(left)


def test_a_folder_opened_ahead_goes_to_the_first_tab(host: InProcess, repo: Path) -> None:
    assert host.sessions.open_folder_in_advance(str(repo)).repo_name == "demo"
    with pytest.raises(CallFailed):
        host.sessions.open_folder_in_advance(str(repo / "gone"))
    first, second = Outbox(), Outbox()
    host.sessions.open(first, "demo")
    host.sessions.open(second, "demo")
    assert (host.sessions.get_session(first).id, host.sessions.get_session(second).id) == (1, 3)


def test_after_the_end_every_question_is_refused(user_data: Path, repo: Path) -> None:
    running = InProcess(user_data, linger_seconds=60)
    running.stop()
    with pytest.raises(CallFailed) as refused:
        running.client.request(MAIN_SESSION_ID, "getRepos")
    assert refused.value.code == "KERNEL_STOPPED"


def test_a_kernel_that_has_the_ready_line_confirmed_waits_for_nothing(host: InProcess) -> None:
    host.client.request(MAIN_SESSION_ID, "getRepos")
    assert host.kernel._pending.seconds_to_next_deadline() is None


def test_what_a_tab_showed_before_stays_open_and_the_oldest_is_closed(
    host: InProcess, tmp_path: Path
) -> None:
    names = ["demo", "two", "three", "four", "five"]
    for name in names[1:]:
        (tmp_path / name).mkdir()
        host.register(tmp_path / name)
    tab = Outbox()
    ids = {}
    for name in names[:3]:
        host.sessions.open(tab, name)
        ids[name] = host.sessions.get_session(tab).id
    host.sessions.open(tab, "demo")
    answering = host.sessions.get_session(tab)
    assert answering.id == ids["demo"]
    answering.answer_count = 1
    for name in names[3:]:
        host.sessions.open(tab, name)
    open_now = [name for name, number in ids.items() if host.is_open(number)]
    assert open_now == ["demo"], "a question is being answered there"
    host.sessions.detach(tab)
    again = Outbox()
    host.sessions.open(again, "demo")
    assert host.sessions.get_session(again).id == ids["demo"]
