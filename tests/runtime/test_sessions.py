"""Sessions and their supervisor over a real vault, with jobs instead of handlers."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Never

import pytest
from codekernel.agent.turns import AgentTurns
from codekernel.conversation.conversations import Conversations
from codekernel.conversation.turn_store import TurnStore
from codekernel.dispatch.notifications import NotificationSender, PendingReplies
from codekernel.dispatch.routing import Lane
from codekernel.domain.concurrency import Lazy
from codekernel.domain.index import Repo
from codekernel.domain.settings import Hardware, Settings
from codekernel.errors import KernelError, SessionExists, SessionNotFound, Stopping
from codekernel.inference.model_pool import ModelPool
from codekernel.llm.model_pool import ChatModelPool
from codekernel.runtime.sessions import (
    Session,
    SessionServices,
    SessionSupervisor,
    SessionTable,
)
from codekernel.runtime.workspaces import Workspaces
from codekernel.settings.live import LiveSettings
from codekernel.storage.conversation_files import ConversationFiles
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import UsageLedger, Vault

PATIENCE_SECONDS = 60


class Noted:
    def __init__(self, work: Callable[[], object] = str) -> None:
        self._work = work
        self.outcome: SimpleQueue[str] = SimpleQueue()

    def run(self) -> None:
        self._work()
        self.outcome.put("done")

    def refuse(self, error: KernelError) -> None:
        self.outcome.put(error.code)

    def result(self) -> str:
        return self.outcome.get(timeout=PATIENCE_SECONDS)


@dataclass
class World:
    supervisor: SessionSupervisor
    workspaces: Workspaces
    repo: Repo
    sent: SimpleQueue[Any]
    user_data: UserData

    def hear(self) -> dict[str, Any]:
        line: dict[str, Any] = json.loads(self.sent.get(timeout=PATIENCE_SECONDS))
        return line

    def open(self, session_id: int, repo: Repo | None = None) -> Session:
        session = self.supervisor.open(session_id, repo or self.repo)
        session.start()
        assert self.hear()["message"]["type"] == "sessionPrepared"
        return session


@pytest.fixture
def world(user_data: Path, repo: Path) -> Iterator[World]:
    place = UserData(user_data)
    vault = Vault(place, {"CODEKERNEL_VAULT_KEY": "a" * 64}, may_quarantine=lambda: False)
    settings = LiveSettings(
        place.settings_file,
        place.modified_settings_file,
        lambda _: False,
        lambda: Hardware(has_cuda=False, has_coreml=False),
    )
    workspaces = Workspaces(place, settings, ModelPool)
    sent: SimpleQueue[Any] = SimpleQueue()
    ledger = UsageLedger(vault)
    conversations = Lazy(lambda: _no_models(place, ledger))
    agents = Lazy(lambda: AgentTurns(place.root, conversations()))
    services = SessionServices(workspaces, settings, ledger, conversations, agents, _have_no_agents)
    supervisor = SessionSupervisor(
        services, NotificationSender(PendingReplies(1), sent.put), SessionTable()
    )
    yield World(supervisor, workspaces, Repo(1, "demo", repo), sent, place)
    assert supervisor.close_all(Stopping("over"), PATIENCE_SECONDS)
    vault.close()


def _have_no_agents() -> Never:
    raise AssertionError("no agent works here")


def _no_models(place: UserData, ledger: UsageLedger) -> Conversations:
    def nobody(*_: object) -> Never:
        raise AssertionError("no model is asked here")

    models = ChatModelPool(Settings, nobody, nobody)
    files = ConversationFiles(place.conversations_folder)
    return Conversations(TurnStore(files, ledger, len), models)


def test_two_windows_on_one_repository_share_one_workspace_and_another_has_its_own(
    world: World,
) -> None:
    first, second = world.open(1), world.open(2)
    other = world.open(3, Repo(2, "other", world.repo.path))
    assert first.workspace is second.workspace
    assert other.workspace is not first.workspace


def test_a_workspace_is_opened_anew_after_its_last_window_closed(world: World) -> None:
    first = world.open(1)
    before = first.workspace
    world.supervisor.close(1)
    assert first.join(PATIENCE_SECONDS)
    assert world.open(1).workspace is not before


def test_a_pause_ends_with_the_last_window_also_if_the_next_comes_before_it_has_ended(
    world: World,
) -> None:
    may_end = threading.Event()
    first, beside = world.open(1), world.open(2)
    first.post(Noted(lambda: may_end.wait(PATIENCE_SECONDS)), Lane.SESSION)
    first.workspace.index.pause()
    world.supervisor.close(2)
    assert beside.join(PATIENCE_SECONDS)
    assert first.workspace.index.get_status().paused, "a pause is not that of one window"
    world.supervisor.close(1)
    after = world.open(3)
    assert after.workspace is first.workspace, "it was taken over"
    assert not after.workspace.index.get_status().paused
    may_end.set()


def test_jobs_wait_until_the_session_is_prepared_and_then_run_in_order(world: World) -> None:
    order: list[int] = []
    session = world.supervisor.open(1, world.repo)
    jobs = [Noted(partial(order.append, number)) for number in range(20)]
    for job in jobs:
        session.post(job, Lane.SESSION)
    own = Noted()
    session.post(own, Lane.OWN_THREAD)
    assert world.sent.empty()
    session.start()
    assert [job.result() for job in jobs] == ["done"] * 20
    assert own.result() == "done"
    assert order == list(range(20))


def test_own_work_does_not_wait_behind_the_sessions_work(world: World) -> None:
    may_go_on = threading.Event()
    session = world.open(1)
    long = Noted(lambda: may_go_on.wait(PATIENCE_SECONDS))
    session.post(long, Lane.SESSION)
    own = Noted()
    session.post(own, Lane.OWN_THREAD)
    assert own.result() == "done"
    may_go_on.set()
    assert long.result() == "done"


def test_closing_does_not_wait_for_work_but_cancels_it_and_refuses_the_rest(world: World) -> None:
    session = world.open(1)
    started = threading.Event()

    def work_until_cancelled() -> None:
        started.set()
        session.cancel.wait(PATIENCE_SECONDS)

    running, waiting = Noted(work_until_cancelled), Noted()
    session.post(running, Lane.SESSION)
    session.post(waiting, Lane.SESSION)
    assert started.wait(PATIENCE_SECONDS)
    world.supervisor.close(1)
    late = Noted()
    session.post(late, Lane.SESSION)
    assert running.result() == "done"
    assert waiting.result() == "SESSION_NOT_FOUND"
    assert late.result() == "SESSION_NOT_FOUND"
    assert world.supervisor.find(1) is None


def test_a_crash_frees_the_id_before_it_is_announced_and_refuses_what_waited(world: World) -> None:
    found_when_announced: list[Session | None] = []

    def send(line: object) -> None:
        found_when_announced.append(world.supervisor.find(1))
        world.sent.put(line)

    healthy, session = world.open(2), world.open(1)
    announcer = world.supervisor._announcer
    assert isinstance(announcer, NotificationSender)
    announcer._send = send
    session.post(Noted(lambda: (_ for _ in ()).throw(SystemExit("gone"))), Lane.SESSION)
    waiting = Noted()
    session.post(waiting, Lane.SESSION)
    crashed = world.hear()
    assert crashed["message"] == {"type": "sessionCrashed", "error": "gone"}
    assert crashed["sessionId"] == 1
    assert found_when_announced == [None]
    assert waiting.result() == "SESSION_NOT_FOUND"
    assert world.open(1) is not session
    still = Noted()
    healthy.post(still, Lane.SESSION)
    assert still.result() == "done"


def test_a_failure_after_closing_is_not_announced_to_whoever_has_the_id_now(world: World) -> None:
    session = world.open(1)
    started = threading.Event()

    def fail_when_cancelled() -> None:
        started.set()
        session.cancel.wait(PATIENCE_SECONDS)
        raise OSError("the disk went away")

    session.post(Noted(fail_when_cancelled), Lane.SESSION)
    assert started.wait(PATIENCE_SECONDS)
    world.supervisor.close(1)
    assert session.join(PATIENCE_SECONDS)
    assert world.sent.empty()


def test_an_id_is_taken_from_the_moment_it_is_given(world: World) -> None:
    world.supervisor.open(1, world.repo)
    with pytest.raises(SessionExists, match="demo"):
        world.supervisor.open(1, world.repo)
    world.supervisor.close(1)
    with pytest.raises(SessionNotFound):
        world.supervisor.close(1)


def test_deleting_a_repository_ends_its_sessions_only(world: World) -> None:
    world.open(1)
    other = world.open(2, Repo(2, "other", world.repo.path))
    assert world.supervisor.close_repo(1, PATIENCE_SECONDS)
    assert world.supervisor.find(1) is None
    assert world.supervisor.find(2) is other


def test_what_an_earlier_run_discarded_is_swept_away(world: World) -> None:
    left = world.user_data.indexes_folder / "discarded-9"
    left.mkdir(parents=True)
    (left / "rows").write_text("x", encoding="utf-8")
    kept = world.user_data.repo_index_folder(3)
    kept.mkdir()
    world.workspaces._delete_discarded()
    assert not left.exists()
    assert kept.exists()
