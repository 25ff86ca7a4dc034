"""Sessions, messages, the queue and permissions, with a scripted agent and a real database."""

import gc
import sqlite3
import stat
import threading
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from codekernel.domain.agent_sessions import (
    META_NOTICE,
    NOTICE_INTERRUPTED,
    NOTICE_STOPPED,
    CancelOutcome,
    NewMessage,
    NewSession,
    PermissionAnswer,
    PermissionMode,
    PermissionOption,
    PermissionStatus,
    PlanEntry,
    SessionMessage,
    SyncEventKind,
)
from codekernel.errors import (
    KernelError,
    PermissionAnswered,
    SessionBusy,
    SessionNotFound,
    Stopping,
    StorageError,
    WrongParam,
)
from codekernel.sync.agents import PlanUpdated
from codekernel.sync.database import SyncFolder
from codekernel.sync.engine import SyncEngine
from codekernel.sync.store import SyncStore
from support.polling import wait_until
from support.scripted_agent import (
    DESK,
    KIND,
    PHONE,
    WAIT_SECONDS,
    EngineWorld,
    ScriptedAgent,
    ScriptedTurn,
    make_services,
    open_world,
    text_of,
)


def test_a_message_is_numbered_run_and_answered(world: EngineWorld) -> None:
    session = world.start(name="work")
    sent = world.send(session.id, "tidy up", "local-1")
    world.wait_until_idle(session.id)
    page = world.engine.read_messages(session.id)
    assert [(it.seq, text_of(it)) for it in page.messages] == [(1, "tidy up"), (2, "did tidy up")]
    assert sent.invoked_at is None
    assert page.messages[0].invoked_at is not None
    assert page.messages[0].actor == PHONE
    assert world.engine.get_session(session.id).last_seq == 2
    assert world.agent.prompts == [("own-1", "tidy up")]


def test_a_local_id_is_sent_once(world: EngineWorld) -> None:
    session = world.start()
    with ThreadPoolExecutor(8) as pool:
        sent = list(pool.map(lambda _: world.send(session.id, "once", "same"), range(20)))
    world.wait_until_idle(session.id)
    assert len({it.id for it in sent}) == 1
    assert world.list_texts(session.id) == ["once", "did once"]


def test_a_tag_starts_one_session(world: EngineWorld) -> None:
    with ThreadPoolExecutor(8) as pool:
        started = list(pool.map(lambda _: world.start(tag="t").id, range(20)))
    assert len(set(started)) == 1
    assert len(world.engine.list_sessions()) == 1


def test_messages_wait_for_the_turn_before_them_and_can_be_taken_back(world: EngineWorld) -> None:
    began, go_on = threading.Event(), threading.Event()

    def turn(of: ScriptedTurn) -> None:
        began.set()
        go_on.wait(WAIT_SECONDS)
        of.say(f"did {of.text}")

    world.agent.turn = turn
    session = world.start()
    first = world.send(session.id, "first")
    assert began.wait(WAIT_SECONDS)
    second, third = (world.send(session.id, name) for name in ("second", "third"))
    assert world.engine.get_session(session.id).queued_count == 2
    assert world.engine.cancel_message(session.id, first.id) is CancelOutcome.INVOKED
    epoch = world.engine.get_session(session.id).epoch
    assert world.engine.cancel_message(session.id, second.id) is CancelOutcome.CANCELLED
    page = world.engine.read_messages(session.id, after_seq=1, epoch=epoch)
    assert page.reset
    assert [(it.seq, it.id) for it in page.messages] == [(1, first.id), (2, third.id)]
    go_on.set()
    world.wait_until_idle(session.id)
    assert world.agent.prompts == [("own-1", "first"), ("own-1", "third")]
    with pytest.raises(WrongParam):
        world.engine.cancel_message(session.id, second.id)


def test_pages_have_no_gap_in_both_directions(world: EngineWorld) -> None:
    def turn(of: ScriptedTurn) -> None:
        for number in range(120):
            of.say(str(number))

    world.agent.turn = turn
    session = world.start()
    world.send(session.id, "count")
    world.wait_until_idle(session.id)
    read = world.engine.read_messages
    newest = read(session.id, limit=50)
    assert newest.has_more
    assert [it.seq for it in newest.messages] == list(range(72, 122))
    older = read(session.id, before_seq=72, limit=50)
    assert [it.seq for it in older.messages] == list(range(22, 72))
    later = read(session.id, after_seq=100, limit=200)
    assert ([it.seq for it in later.messages], later.has_more) == (list(range(101, 122)), False)
    assert read(session.id, before_seq=1).messages == ()


def test_a_growing_message_is_told_and_not_kept(world: EngineWorld) -> None:
    def turn(of: ScriptedTurn) -> None:
        of.say("one", id="m", complete=False)
        of.say("one two", id="m", complete=False)
        of.say("one two three", id="m", complete=True)
        of.update(PlanUpdated((PlanEntry("count", "completed"),)))

    world.agent.turn = turn
    session = world.start()
    world.send(session.id, "count")
    received = world.wait_for(
        lambda it: (
            it.kind is SyncEventKind.MESSAGE_RECEIVED
            and it.message is not None
            and it.message.seq == 2
        )
    )
    world.wait_until_idle(session.id)
    assert world.list_texts(session.id) == ["count", "one two three"]
    assert received.message is not None
    assert received.message.id == world.engine.read_messages(session.id).messages[1].id
    assert world.engine.get_session(session.id).plan == (PlanEntry("count", "completed"),)


def test_the_first_answer_wins_and_is_logged_with_who_and_where(world: EngineWorld) -> None:
    answers: list[bool] = []
    world.agent.turn = lambda turn: answers.append(turn.ask())
    session = world.start()
    world.send(session.id, "run it")
    world.wait_for_permission(session.id)
    allowed = PermissionAnswer(allowed=True, actor=PHONE)
    settled = world.engine.answer_permission(session.id, "p1", allowed)
    with pytest.raises(PermissionAnswered, match="Ann"):
        world.engine.answer_permission(
            session.id, "p1", PermissionAnswer(allowed=False, actor=DESK)
        )
    world.wait_until_idle(session.id)
    assert answers == [True]
    assert settled.status is PermissionStatus.APPROVED
    assert world.engine.list_permissions(session.id) == [settled]
    assert settled.answered_by == PHONE
    with pytest.raises(WrongParam):
        world.engine.answer_permission(session.id, "p2", allowed)


def test_of_many_answers_at_the_same_moment_one_decides(world: EngineWorld) -> None:
    decided: list[bool] = []
    world.agent.turn = lambda turn: decided.append(turn.ask(turn.text))
    session = world.start()

    def answer(name: str, allowed: bool, start: threading.Barrier) -> bool:  # noqa: FBT001
        start.wait(WAIT_SECONDS)
        try:
            world.engine.answer_permission(
                session.id, name, PermissionAnswer(allowed=allowed, actor=PHONE)
            )
        except PermissionAnswered:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        for number in range(50):
            world.send(session.id, f"p{number}")
            world.wait_for_permission(session.id)
            start = threading.Barrier(4)
            won = pool.map(answer, [f"p{number}"] * 4, (True, False) * 2, [start] * 4)
            assert sorted(won) == [False, False, False, True]
    world.wait_until_idle(session.id)
    assert len(decided) == len(world.agent.responses) == 50


@pytest.mark.parametrize(
    ("answer", "option"),
    [
        (PermissionAnswer(allowed=True, actor=PHONE), "once"),
        (PermissionAnswer(allowed=True, actor=PHONE, for_turn=True), "always"),
        (PermissionAnswer(allowed=False, actor=PHONE), "no"),
        (PermissionAnswer(allowed=True, actor=PHONE, option_id="always"), "always"),
    ],
)
def test_the_agents_own_option_is_chosen(
    world: EngineWorld, answer: PermissionAnswer, option: str
) -> None:
    options = (
        PermissionOption("always", "Always", "allow_always"),
        PermissionOption("once", "Once", "allow_once"),
        PermissionOption("no", "No", "reject_once"),
    )
    world.agent.turn = lambda turn: turn.ask(options=options)
    session = world.start()
    world.send(session.id, "run it")
    world.wait_for_permission(session.id)
    world.engine.answer_permission(session.id, "p1", answer)
    world.wait_until_idle(session.id)
    assert world.agent.responses == [("p1", answer.allowed, option)]


def test_a_session_that_allows_everything_answers_itself_and_logs_it(world: EngineWorld) -> None:
    world.agent.turn = lambda turn: turn.say("ran" if turn.ask() else "refused")
    session = world.start(permission_mode=PermissionMode.ALLOW_ALL)
    world.send(session.id, "run it")
    world.wait_until_idle(session.id)
    assert world.list_texts(session.id) == ["run it", "ran"]
    assert [it.status for it in world.engine.list_permissions(session.id)] == [
        PermissionStatus.APPROVED
    ]


def test_a_stop_ends_the_turn_and_what_waits_goes_on(world: EngineWorld) -> None:
    world.agent.turn = lambda turn: turn.ask(turn.text)
    session = world.start()
    world.send(session.id, "p1")
    world.send(session.id, "p2")
    world.wait_for_permission(session.id)
    world.engine.stop_turn(session.id, DESK)
    world.wait_for(lambda it: it.session is not None and it.session.pending_permissions != ())
    first, second = world.engine.list_permissions(session.id)
    assert (first.status, second.status) == (PermissionStatus.CANCELED, PermissionStatus.PENDING)
    with pytest.raises(PermissionAnswered, match="ended"):
        world.engine.answer_permission(
            session.id, "p1", PermissionAnswer(allowed=True, actor=PHONE)
        )
    world.engine.stop_turn(session.id, DESK)
    world.wait_until_idle(session.id)
    notices = [it.message.meta.get(META_NOTICE) for it in read_all(world, session.id)]
    assert notices.count(NOTICE_STOPPED) == 2
    world.engine.stop_turn(session.id, DESK)


def read_all(world: EngineWorld, session_id: str) -> list[SessionMessage]:
    return list(world.engine.read_messages(session_id, limit=200).messages)


def test_an_agent_that_fails_says_so_and_is_loaded_again(world: EngineWorld) -> None:
    def fail(turn: ScriptedTurn) -> None:
        raise KernelError("the agent died")

    world.agent.turn = fail
    session = world.start()
    world.send(session.id, "one")
    world.wait_until_idle(session.id)
    assert world.list_texts(session.id) == ["one", "the agent died"]
    assert read_all(world, session.id)[-1].message.meta["is_error"] is True
    world.agent.turn = lambda turn: turn.say("again")
    world.send(session.id, "two")
    world.wait_until_idle(session.id)
    assert world.agent.loaded == ["own-1"]
    assert world.list_texts(session.id)[-1] == "again"


def test_a_session_that_cannot_be_loaded_is_begun_anew(user_data: Path) -> None:
    with open_world(user_data) as world:
        session = world.start()
    agent = ScriptedAgent(can_load=False)
    with open_world(user_data, agent) as world:
        world.send(session.id, "go on")
        world.wait_until_idle(session.id)
        assert agent.prompts == [("own-1", "go on")]
        assert agent.loaded == ["own-1"]


def test_a_working_session_is_not_deleted(world: EngineWorld) -> None:
    go_on = threading.Event()
    world.agent.turn = lambda _: go_on.wait(WAIT_SECONDS)
    session = world.start()
    world.send(session.id, "work")
    with pytest.raises(SessionBusy):
        world.engine.delete_session(session.id)
    assert world.engine.runners.is_busy
    go_on.set()
    world.wait_until_idle(session.id)
    wait_until(lambda: not world.engine.runners.is_busy)
    world.engine.delete_session(session.id)
    with pytest.raises(SessionNotFound):
        world.engine.read_messages(session.id)
    assert world.engine.list_sessions() == []


def test_a_killed_kernel_leaves_an_interrupted_turn_and_the_queue_goes_on(user_data: Path) -> None:
    """The database is copied while the turn waits: what a kill leaves."""
    agent = ScriptedAgent(turn=lambda turn: turn.ask())
    copied = user_data.parent / "copy"
    with open_world(user_data, agent) as world:
        session = world.start()
        world.send(session.id, "first")
        world.send(session.id, "second", "local")
        world.wait_for_permission(session.id)
        (copied / "agent").mkdir(parents=True)
        for file in (user_data / "agent").iterdir():
            if file.suffix != ".lock":
                (copied / "agent" / file.name).write_bytes(file.read_bytes())
    with open_world(copied) as world:
        world.wait_until_idle(session.id)
        messages = read_all(world, session.id)
        assert len(messages) == 4
        assert [text_of(it) for it in messages][0:2] == ["first", "second"]
        assert messages[2].message.meta[META_NOTICE] == NOTICE_INTERRUPTED
        assert text_of(messages[3]) == "did second"
        (permission,) = world.engine.list_permissions(session.id)
        assert permission.status is PermissionStatus.CANCELED
        assert world.agent.prompts == [("own-1", "second")]


def test_an_orderly_end_interrupts_the_turn_too(user_data: Path) -> None:
    with open_world(user_data, ScriptedAgent(turn=lambda turn: turn.ask())) as world:
        session = world.start()
        world.send(session.id, "first")
        world.wait_for_permission(session.id)
    with open_world(user_data) as world:
        last = read_all(world, session.id)[-1]
        assert last.message.meta[META_NOTICE] == NOTICE_INTERRUPTED
        assert not world.engine.get_session(session.id).is_thinking


def test_one_kernel_runs_the_agents_and_another_keeps_its_own_in_memory(user_data: Path) -> None:
    with open_world(user_data) as world:
        folder = SyncFolder(user_data / "agent")
        services = make_services(ScriptedAgent(), world.folder)
        with pytest.raises(StorageError, match="still at work"):
            SyncEngine(folder, services)
        private = SyncEngine(folder, services, is_private=True)
        world.start()
        assert private.list_sessions() == []
        assert private.get_machine().id == world.engine.get_machine().id
        private.close()
    with open_world(user_data) as world:
        assert len(world.engine.list_sessions()) == 1


def test_a_damaged_database_is_quarantined(user_data: Path) -> None:
    with open_world(user_data) as world:
        machine = world.engine.get_machine().id
        world.start()
    database = user_data / "agent" / "sync.db"
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    damaged = b"no database" * 1000
    database.write_bytes(damaged)
    with open_world(user_data) as world:
        assert world.engine.list_sessions() == []
        assert world.engine.get_machine().id == machine
        world.start()
    (aside,) = (user_data / "agent").glob("sync.db.unreadable*")
    assert aside.read_bytes() == damaged


def test_a_database_of_a_later_version_is_left_alone(user_data: Path) -> None:
    with open_world(user_data):
        pass
    database = sqlite3.connect(user_data / "agent" / "sync.db")
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(StorageError, match="later version"), open_world(user_data):
        pass
    assert list((user_data / "agent").glob("*.unreadable*")) == []


def test_what_is_changed_of_a_session_stays(user_data: Path) -> None:
    with open_world(user_data) as world:
        session = world.start()
        changed = world.engine.update_session(
            session.id, name="new", model="m", permission_mode=PermissionMode.READ_ONLY
        )
        assert changed.version > session.version
        world.engine.update_session(session.id, is_archived=True)
    with open_world(user_data) as world:
        found = world.engine.get_session(session.id)
        assert (found.name, found.model, found.is_archived) == ("new", "m", True)
        assert found.permission_mode is PermissionMode.READ_ONLY
        world.send(session.id, "wake up")
        world.wait_until_idle(session.id)
        assert world.engine.get_session(session.id).is_active


def test_names_and_texts_may_hold_lone_surrogates(user_data: Path) -> None:
    with open_world(user_data) as world:
        session = world.start(name="\udcff", tag="\udcfe")
        world.send(session.id, "a \udc80 file", "\udc81")
        world.wait_until_idle(session.id)
    with open_world(user_data) as world:
        assert world.start(tag="\udcfe").id == session.id
        assert world.engine.get_session(session.id).name == "\udcff"
        assert world.list_texts(session.id)[0] == "a \udc80 file"


@pytest.mark.parametrize("text", ["", " \n", "x" * 100_001])
def test_an_empty_or_endless_message_is_refused(world: EngineWorld, text: str) -> None:
    session = world.start()
    with pytest.raises(WrongParam):
        world.send(session.id, text)
    assert world.engine.get_session(session.id).last_seq == 0


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{"max_kept_events": 100}])
def test_turns_do_not_fill_the_memory(world: EngineWorld) -> None:
    """What is kept of a turn is on disk; the log of events is bounded."""

    def run_turns(count: int) -> int:
        for number in range(count):
            world.agent.turn = lambda turn: turn.say("x" * 10_000)
            world.send(session.id, f"turn {number}")
        world.wait_until_idle(session.id)
        while not world.events.empty():
            world.events.get()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    session = world.start()
    tracemalloc.start()
    try:
        before = run_turns(100)
        assert run_turns(500) - before < 1_000_000  # all that was said is 5 MB
    finally:
        tracemalloc.stop()


def begin(world: EngineWorld, text: str, accept: Callable[[], object] = lambda: None) -> None:
    new = NewSession(folder=str(world.folder), actor=DESK, agent=KIND)
    world.engine.begin_turn(new, 7, NewMessage(text, DESK), accept)


def test_a_window_begins_a_turn_before_what_was_sent_meanwhile(world: EngineWorld) -> None:
    begin(world, "first")
    (session,) = world.engine.list_sessions()
    world.wait_until_idle(session.id)
    begin(world, "second", lambda: world.send(session.id, "third"))
    world.wait_until_idle(session.id)
    assert [text for _, text in world.agent.prompts] == ["first", "second", "third"]
    assert session.name == "first"


def test_a_turn_that_is_not_accepted_leaves_nothing(world: EngineWorld) -> None:
    def refuse() -> None:
        raise WrongParam("no such model")

    with pytest.raises(WrongParam, match="no such model"):
        begin(world, "first", refuse)
    assert world.engine.list_sessions() == []
    assert not world.engine.runners.is_busy

    def send_and_refuse() -> None:
        world.send(session.id, "third")
        refuse()

    begin(world, "first")
    (session,) = world.engine.list_sessions()
    world.wait_until_idle(session.id)
    with pytest.raises(WrongParam, match="no such model"):
        begin(world, "second", send_and_refuse)
    world.wait_until_idle(session.id)
    assert [text for _, text in world.agent.prompts] == ["first", "third"]


def test_a_turn_of_a_window_never_waits_in_the_queue_of_which_the_next_kernel_would_begin_it(
    world: EngineWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise StorageError("killed between both steps")

    monkeypatch.setattr(SyncStore, "take_message", die)
    with pytest.raises(StorageError):
        begin(world, "first")
    (session,) = world.engine.list_sessions()
    assert session.queued_count == 0
    assert world.agent.prompts == []


def test_one_turn_of_a_conversation_runs_at_a_time(world: EngineWorld) -> None:
    go_on = threading.Event()
    world.agent.turn = lambda _: go_on.wait(WAIT_SECONDS)
    begin(world, "first")
    with pytest.raises(WrongParam, match="still answering"):
        begin(world, "second")
    go_on.set()


def test_a_kernel_that_ends_begins_no_turn(world: EngineWorld) -> None:
    world.engine.runners.retire()
    with pytest.raises(Stopping):
        begin(world, "first")
    assert world.agent.prompts == []


def test_a_bug_of_an_agent_ends_its_turn_alone(world: EngineWorld) -> None:
    def break_down(turn: ScriptedTurn) -> None:
        raise RuntimeError(turn.text)

    world.agent.turn = break_down
    session = world.start()
    world.send(session.id, "one")
    world.wait_until_idle(session.id)
    assert "failed unexpectedly" in world.list_texts(session.id)[-1]
    world.agent.turn = lambda turn: turn.say("again")
    world.send(session.id, "two")
    world.wait_until_idle(session.id)
    assert world.list_texts(session.id)[-1] == "again"


@pytest.mark.parametrize("changes", [{"clock": lambda: 1_000}])
def test_a_message_that_waited_has_a_time_after_all_that_was_said_meanwhile(
    world: EngineWorld,
) -> None:
    """Devices order messages by (invoked_at, seq), also where everything is in one millisecond."""
    may_go_on = threading.Event()

    def act(turn: ScriptedTurn) -> None:
        assert may_go_on.wait(WAIT_SECONDS)
        turn.say(f"did {turn.text}")

    world.agent.turn = act
    session = world.start()
    world.send(session.id, "one")
    world.send(session.id, "two")
    may_go_on.set()
    world.wait_until_idle(session.id)
    messages = world.engine.read_messages(session.id).messages
    ordered = sorted(messages, key=lambda it: (it.invoked_at, it.seq))
    assert [text_of(it) for it in ordered] == ["one", "did one", "two", "did two"]
