"""The dispatcher with tables of its own, so that every kind of handler can be shown."""

import json
import threading
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest
from codekernel.dispatch.dispatcher import Backlog, Dispatcher, HandlerReply, MainTarget
from codekernel.dispatch.notifications import PendingReplies
from codekernel.dispatch.routing import (
    Job,
    Lane,
    Router,
    StreamTerminator,
    WorkerLane,
    run_on_own_thread,
)
from codekernel.errors import KernelError, NetworkError, RepoNotFound, Stopping
from codekernel.protocol.envelope import Message, ReplyData

TIMEOUT_SECONDS = 60


class Greet(Message, frozen=True, tag="greet"):
    name: str


class Greeting(ReplyData, frozen=True):
    text: str


class Count(Message, frozen=True, tag="count"):
    to: int


class Fail(Message, frozen=True, tag="fail"):
    how: str


class Stream(Message, frozen=True, tag="stream"):
    how: str


class Block(Message, frozen=True, tag="block"):
    pass


class Halt(Message, frozen=True, tag="halt"):
    pass


class HandlerContext:
    """What the handlers below work with."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.blocked = threading.Event()
        self.hurried: list[str] = []


class OpenSession:
    """A session whose jobs run on threads of their own."""

    def post(self, job: Job, lane: Lane) -> None:
        run_on_own_thread(job, lane.name)


router: Router[HandlerContext] = Router()
session_router: Router[OpenSession] = Router()


@router.handles(
    Greet, lane=Lane.MAIN, on_arrival=lambda message, context: context.hurried.append(message.name)
)
def greet(message: Greet, context: HandlerContext) -> HandlerReply:
    return HandlerReply(Greeting(text=f"hello {message.name}"), {"greeted": True})


@router.handles(Count, lane=Lane.OWN_THREAD)
def count(message: Count, context: HandlerContext) -> Iterator[Greeting | KernelError]:
    if message.to < 0:
        yield NetworkError("not that way")
        yield Greeting(text="over")
    for number in range(message.to):
        yield Greeting(text=str(number))
    if message.to > 2:
        raise RepoNotFound("too far")


def is_over(part: object) -> bool:
    return part == Greeting(text="over")


@session_router.handles(
    Stream,
    lane=Lane.OWN_THREAD,
    stream_end=StreamTerminator(refusal_part=Greeting(text="over"), is_end=is_over),
)
def stream(message: Stream, session: "OpenSession") -> Iterator[Greeting]:
    if message.how == "refuse":
        raise RepoNotFound("no")
    yield Greeting(text="begun")
    if message.how == "break":
        raise ZeroDivisionError("a secret of the implementation")
    yield Greeting(text="over")
    if message.how == "late":
        raise RepoNotFound("after its end")


@router.handles(Fail, lane=Lane.MAIN)
def fail(message: Fail, context: HandlerContext) -> None:
    if message.how == "exit":
        raise SystemExit(3)
    raise ZeroDivisionError("a secret of the implementation")


@router.handles(Block, lane=Lane.MAIN)
def block(message: Block, context: HandlerContext) -> None:
    context.blocked.set()
    assert context.may_go_on.wait(TIMEOUT_SECONDS)


@router.handles(Halt, lane=Lane.URGENT)
def halt(message: Halt, context: HandlerContext) -> None:
    return None


@session_router.handles(Greet, lane=Lane.SESSION)
def greet_in_session(message: Greet, session: OpenSession) -> Greeting:
    return Greeting(text=f"session says {message.name}")


class DispatcherHarness:
    """A dispatcher, what it sent, and shorthands to send and receive."""

    def __init__(self) -> None:
        self.sent: SimpleQueue[bytes] = SimpleQueue()
        self.context = HandlerContext()
        self.sessions: dict[int, OpenSession] = {}
        self.crashes: list[BaseException] = []
        self.pending = PendingReplies(1)
        self.lane = WorkerLane("main", self.crashes.append)
        self.dispatcher: Dispatcher[HandlerContext, OpenSession] = Dispatcher(
            main=MainTarget(router, self.context, {Lane.MAIN: self.lane}),
            session_router=session_router,
            find_session=self.sessions.get,
            pending=self.pending,
            send=self._keep,
        )

    def _keep(self, line: object) -> None:
        assert isinstance(line, bytes)
        self.sent.put(line)

    def send(self, message: dict[str, Any], *, callback: int = 1, **changes: Any) -> None:
        line = {
            "sessionId": -1,
            "toMain": True,
            "callbackId": callback,
            "isReply": False,
            "message": message,
        }
        self.dispatcher.accept(json.dumps(line | changes).encode())

    def receive(self) -> dict[str, Any]:
        line: dict[str, Any] = json.loads(self.sent.get(timeout=TIMEOUT_SECONDS))
        return line


@pytest.fixture
def harness() -> Iterator[DispatcherHarness]:
    harness = DispatcherHarness()
    yield harness
    harness.context.may_go_on.set()
    harness.lane.close(Stopping("over"))
    assert harness.lane.join(TIMEOUT_SECONDS)
    assert harness.crashes == []


def test_a_handler_that_returns_answers_once_and_may_add_to_the_echo(
    harness: DispatcherHarness,
) -> None:
    harness.send({"type": "greet", "name": "you"})
    line = harness.receive()
    assert line["data"] == {"text": "hello you"}
    assert line["message"] == {"type": "greet", "name": "you", "greeted": True}


def test_a_handler_that_yields_answers_each_time(harness: DispatcherHarness) -> None:
    harness.send({"type": "count", "to": 2}, callback=9)
    lines = [harness.receive(), harness.receive()]
    assert [line["data"]["text"] for line in lines] == ["0", "1"]
    assert {line["callbackId"] for line in lines} == {9}


def test_an_error_that_is_yielded_is_one_reply_among_others(harness: DispatcherHarness) -> None:
    harness.send({"type": "count", "to": -1})
    failed, over = harness.receive(), harness.receive()
    assert failed["status"] == {"code": "NETWORK_ERROR", "message": "not that way"}
    assert "data" not in failed
    assert over["data"] == {"text": "over"}


def test_a_handler_that_fails_halfway_says_so_after_what_it_said(
    harness: DispatcherHarness,
) -> None:
    harness.send({"type": "count", "to": 3})
    codes = [harness.receive()["status"]["code"] for _ in range(4)]
    assert codes == ["SUCCESS", "SUCCESS", "SUCCESS", "REPO_NOT_FOUND"]


@pytest.mark.parametrize("how", ["exit", "bug"])
def test_an_unexpected_failure_is_answered_without_its_details(
    harness: DispatcherHarness, how: str
) -> None:
    harness.send({"type": "fail", "how": how})
    status = harness.receive()["status"]
    assert status["code"] == "UNKNOW_ERROR"
    assert "secret" not in status["message"]
    harness.send({"type": "greet", "name": "still here"})
    assert harness.receive()["status"]["code"] == "SUCCESS"


def test_urgent_messages_do_not_wait_behind_work(harness: DispatcherHarness) -> None:
    harness.send({"type": "block"}, callback=1)
    assert harness.context.blocked.wait(TIMEOUT_SECONDS)
    harness.send({"type": "greet", "name": "waits"}, callback=2)
    harness.send({"type": "halt"}, callback=3)
    assert harness.receive()["callbackId"] == 3
    assert harness.context.hurried == ["waits"]
    harness.context.may_go_on.set()
    assert [harness.receive()["callbackId"], harness.receive()["callbackId"]] == [1, 2]


def test_a_message_to_a_session_that_is_being_opened_waits_for_it(
    harness: DispatcherHarness,
) -> None:
    harness.send({"type": "block"}, callback=1)
    assert harness.context.blocked.wait(TIMEOUT_SECONDS)
    harness.send({"type": "greet", "name": "early"}, callback=2, sessionId=5, toMain=False)
    harness.sessions[5] = OpenSession()
    harness.context.may_go_on.set()
    harness.receive()
    assert harness.receive()["data"] == {"text": "session says early"}


def test_a_message_to_a_session_that_never_opens_is_answered(harness: DispatcherHarness) -> None:
    harness.send({"type": "greet", "name": "x"}, sessionId=5, toMain=False)
    assert harness.receive()["status"]["code"] == "SESSION_NOT_FOUND"


def test_requests_still_open_at_the_end_are_refused(harness: DispatcherHarness) -> None:
    harness.send({"type": "block"}, callback=1)
    assert harness.context.blocked.wait(TIMEOUT_SECONDS)
    harness.dispatcher.drain(0.01, Stopping("over"))
    line = harness.receive()
    assert (line["callbackId"], line["status"]["message"]) == (1, "over")


def test_replies_settle_what_we_asked(harness: DispatcherHarness) -> None:
    callback_id = harness.pending.expect("ready")
    harness.send({"type": "ready"}, callback=callback_id, isReply=True)
    assert harness.pending.settle(callback_id) is None
    assert harness.sent.empty()


def test_a_second_handler_for_one_message_is_refused() -> None:
    with pytest.raises(ValueError, match="greet"):
        router.handles(Greet, lane=Lane.MAIN)(greet)


@pytest.mark.parametrize(
    ("how", "session", "received"),
    [
        ("well", 5, ["begun", "over"]),
        ("refuse", 5, ["REPO_NOT_FOUND", "over"]),
        ("break", 5, ["begun", "UNKNOW_ERROR", "over"]),
        ("late", 5, ["begun", "over", "REPO_NOT_FOUND"]),
        (7, 5, ["WRONG_PARAM", "over"]),
        ("well", 6, ["SESSION_NOT_FOUND", "over"]),
    ],
)
def test_a_stream_that_fails_ends_as_one_that_does_not(
    harness: DispatcherHarness, how: object, session: int, received: list[str]
) -> None:
    harness.sessions[5] = OpenSession()
    harness.send({"type": "stream", "how": how}, sessionId=session, toMain=False)
    replies = [harness.receive() for _ in received]
    assert [
        reply["data"]["text"] if "data" in reply else reply["status"]["code"] for reply in replies
    ] == received


def test_a_stream_refused_at_the_end_of_the_kernel_ends_too(harness: DispatcherHarness) -> None:
    harness.lane.close(Stopping("the kernel is stopping"))
    assert harness.lane.join(TIMEOUT_SECONDS)
    harness.send({"type": "stream", "how": "well"}, sessionId=6, toMain=False)
    assert harness.receive()["status"]["code"] == "UNKNOW_ERROR"
    assert harness.receive()["data"] == {"text": "over"}


@pytest.mark.parametrize("in_time", [True, False])
def test_a_dispatcher_knows_whether_its_client_has_heard_anything(
    harness: DispatcherHarness, *, in_time: bool
) -> None:
    if in_time:
        harness.send({"type": "greet", "name": "you"})
        harness.receive()
    harness.dispatcher.fall_silent()
    harness.send({"type": "greet", "name": "you"})
    harness.lane.close(Stopping("over"))
    assert harness.lane.join(TIMEOUT_SECONDS)
    assert harness.dispatcher.has_answered is in_time
    assert harness.sent.empty()


class Waiting:
    def run(self) -> None:
        raise NotImplementedError

    def refuse(self, error: KernelError) -> None:
        raise NotImplementedError


def test_beyond_the_limit_requests_are_refused_while_nothing_moves() -> None:
    backlog = Backlog(limit=2, admit_timeout_seconds=0.01)
    first, second = Waiting(), Waiting()
    assert backlog.admit(first)
    assert backlog.admit(second)
    assert not backlog.admit(Waiting())
    assert not backlog.admit(Waiting())
    backlog.finish(first)
    assert backlog.admit(Waiting())
    assert second in backlog.list_open()


def test_few_requests_are_too_many_if_their_lines_are_long() -> None:
    backlog = Backlog(max_bytes=100, admit_timeout_seconds=0.01)
    first = Waiting()
    assert backlog.admit(first, 60)
    assert backlog.admit(Waiting(), 60)
    assert not backlog.admit(Waiting(), 1)
    backlog.finish(first)
    assert backlog.admit(Waiting(), 1)


def test_a_burst_that_is_being_worked_off_is_waited_for() -> None:
    backlog = Backlog(limit=1, admit_timeout_seconds=TIMEOUT_SECONDS)
    first = Waiting()
    backlog.admit(first)
    admitted: list[bool] = []
    admitting = threading.Thread(target=lambda: admitted.append(backlog.admit(Waiting())))
    admitting.start()
    backlog.finish(first)
    admitting.join(TIMEOUT_SECONDS)
    assert admitted == [True]


def test_waiting_until_empty_ends_with_the_last_answer() -> None:
    backlog = Backlog()
    job = Waiting()
    backlog.admit(job)
    empty = threading.Event()

    def wait() -> None:
        backlog.wait_until_empty(TIMEOUT_SECONDS)
        empty.set()

    threading.Thread(target=wait, daemon=True).start()
    assert backlog.list_open() == [job]
    backlog.finish(job)
    backlog.finish(job)
    assert empty.wait(TIMEOUT_SECONDS)
    assert backlog.list_open() == []
