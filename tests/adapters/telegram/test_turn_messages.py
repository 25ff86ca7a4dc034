"""What is sent, how often, and once; with the limits of the platform a hundred times as fast."""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from codekernel.adapters.chat.session_feed import ChatPace, RateLimit
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.telegram.api import TelegramApi
from codekernel.adapters.telegram.message_store import MessageStore
from codekernel.adapters.telegram.rendering import DocumentPage, Page, PageButton, TextPage
from codekernel.adapters.telegram.turn_messages import TurnMessages
from support.bot_api import TOKEN, BotApi, serve_bot_api
from support.telegram_world import ANN, SHORT_LIMITS, SHORT_SECONDS

CHAT = str(ANN)


@dataclass
class Outbox:
    """A sender before a platform that a person has written to."""

    api: BotApi
    address: str
    folder: Path
    delivered: "queue.SimpleQueue[tuple[str, str]]" = field(default_factory=queue.SimpleQueue)
    seen: set[str] = field(default_factory=set)
    gone: list[str] = field(default_factory=list)

    def item_delivered(self, chat_id: str, key: str) -> None:
        self.delivered.put((chat_id, key))

    def chat_gone(self, chat_id: str) -> None:
        self.gone.append(chat_id)

    @contextmanager
    def open(self) -> Iterator[TurnMessages]:
        with (
            closing(HubDatabase(self.folder)) as database,
            closing(TelegramApi(TOKEN, self.address)) as client,
        ):
            messages = TurnMessages(client, MessageStore(database), self, SHORT_LIMITS)
            yield messages
            messages.stop(10)

    def wait(self, key: str) -> None:
        while key not in self.seen:
            self.seen.add(self.delivered.get(timeout=60)[1])

    def texts(self) -> list[str]:
        return [
            message.text if message.document is None else message.document.decode()
            for message in self.api.list_messages(ANN)
        ]


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    api = BotApi(interval_seconds=SHORT_SECONDS)
    with serve_bot_api(api) as address:
        api.say(ANN, "/start")
        yield Outbox(api, address, tmp_path)


def pages(*texts: str) -> list[Page]:
    return [TextPage(text) for text in texts]


def fail_once(api: BotApi, method: str, fault: str) -> None:
    """Let the next call of a method go wrong."""
    left = [fault]

    def choose(called: str) -> str:
        return left.pop() if called == method and left else ""

    api.fault = choose


def test_items_are_sent_in_their_order_and_reported(outbox: Outbox) -> None:
    with outbox.open() as messages:
        for number in range(5):
            messages.put(CHAT, f"i{number}", pages(f"a{number}", f"b{number}"), is_final=True)
        messages.start()
        for number in range(5):
            outbox.wait(f"i{number}")
    assert outbox.texts() == [f"{part}{number}" for number in range(5) for part in "ab"]


def test_the_last_state_is_delivered_in_the_same_message(outbox: Outbox) -> None:
    with outbox.open() as messages:
        messages.start()
        for number in range(200):
            messages.put(CHAT, "turn", pages(f"state {number}"), is_final=False)
        messages.put(CHAT, "turn", pages("the end"), is_final=True)
        outbox.wait("turn")
    (message,) = outbox.api.list_messages(ANN)
    assert message.text == "the end"
    assert message.edits < 200


def test_a_new_message_does_not_wait_for_one_that_grows(outbox: Outbox) -> None:
    with outbox.open() as messages:
        messages.start()
        messages.put(CHAT, "turn", pages("0"), is_final=False)
        outbox.api.wait_for_text(ANN, "0")
        for number in range(1, 50):
            messages.put(CHAT, "turn", pages(str(number)), is_final=False)
        messages.put(CHAT, "permission", pages("may I?"), is_final=True)
        outbox.wait("permission")
    assert outbox.texts()[1] == "may I?"


def test_what_was_sent_before_is_not_sent_again(outbox: Outbox) -> None:
    with outbox.open() as messages:
        messages.start()
        messages.put(CHAT, "reply", pages("hello"), is_final=True)
        outbox.wait("reply")
        messages.finish(CHAT, "reply")
    with outbox.open() as messages:
        messages.start()
        messages.put(CHAT, "reply", pages("hello again"), is_final=True)
        messages.put(CHAT, "other", pages("other"), is_final=True)
        outbox.wait("other")
    assert outbox.texts() == ["hello", "other"]


def test_what_was_not_sent_is_sent_after_a_restart(outbox: Outbox) -> None:
    with outbox.open() as messages:  # never started
        messages.put(CHAT, "a", [TextPage("text", (PageButton("Yes", "1"),))], is_final=True)
        messages.put(CHAT, "b", [DocumentPage("a.txt", "file", "caption")], is_final=True)
    with outbox.open() as messages:
        messages.start()
        outbox.wait("b")
    assert outbox.texts() == ["text", "file"]
    assert outbox.api.list_messages(ANN)[0].labels == ["Yes"]


@pytest.mark.parametrize("fault", ["before", "after", "half", "error"])
@pytest.mark.parametrize(
    "page", [TextPage("text", (PageButton("Yes", "1"),)), DocumentPage("a.txt", "file")]
)
def test_a_message_whose_answer_was_lost_is_there_once(
    outbox: Outbox, fault: str, page: Page
) -> None:
    method = "sendMessage" if isinstance(page, TextPage) else "sendDocument"
    fail_once(outbox.api, method, fault)
    with outbox.open() as messages:
        messages.start()
        messages.put(CHAT, "a", [page], is_final=True)
        messages.put(CHAT, "b", pages("next"), is_final=True)
        outbox.wait("a")
        outbox.wait("b")
    assert outbox.texts() == ["text" if isinstance(page, TextPage) else "file", "next"]
    if isinstance(page, TextPage):
        assert outbox.api.list_messages(ANN)[0].labels == ["Yes"]


def test_a_lost_answer_is_cleared_up_after_a_restart_among_messages_of_others(
    outbox: Outbox,
) -> None:
    is_sent = []

    def lose_all(method: str) -> str:
        is_sent.append(method)
        return "after" if method == "sendMessage" else "before"

    outbox.api.fault = lose_all
    with outbox.open() as messages:
        messages.put(CHAT, "a", pages("only once"), is_final=True)
        messages.start()
        outbox.api.wait_for_text(ANN, "only once")
    for _ in range(3):
        outbox.api.say(ANN, "hello?")
    outbox.api.fault = lambda _method: ""
    with outbox.open() as messages:
        messages.start()
        messages.put(CHAT, "b", pages("next"), is_final=True)
        outbox.wait("a")
        outbox.wait("b")
    assert outbox.texts() == ["only once", "next"]


def test_pages_that_are_not_needed_any_more_are_deleted(outbox: Outbox) -> None:
    with outbox.open() as messages:
        messages.start()
        messages.put(CHAT, "turn", pages("a", "b", "c"), is_final=False)
        outbox.api.wait_for_text(ANN, "c")
        messages.put(CHAT, "turn", pages("a", "B"), is_final=True)
        outbox.wait("turn")
    assert outbox.texts() == ["a", "B"]


def test_a_document_takes_the_place_of_a_text_and_the_order_is_kept(outbox: Outbox) -> None:
    with outbox.open() as messages:
        messages.start()
        messages.put(CHAT, "turn", pages("a", "b", "c"), is_final=False)
        outbox.api.wait_for_text(ANN, "c")
        wanted: list[Page] = [TextPage("a"), DocumentPage("x", "file"), TextPage("end")]
        messages.put(CHAT, "turn", wanted, is_final=True)
        outbox.wait("turn")
    assert outbox.texts() == ["a", "file", "end"]


def test_a_message_that_a_person_has_deleted_holds_up_nothing(outbox: Outbox) -> None:
    with outbox.open() as messages:
        messages.start()
        messages.put(CHAT, "turn", pages("a"), is_final=False)
        message = outbox.api.wait_for_text(ANN, "a")
        outbox.api.call("deleteMessage", {"chat_id": ANN, "message_id": message.id})
        messages.put(CHAT, "turn", pages("a and more"), is_final=True)
        messages.put(CHAT, "next", pages("next"), is_final=True)
        outbox.wait("turn")
        outbox.wait("next")
    assert outbox.texts() == ["next"]


def test_what_telegram_refuses_is_sent_as_a_file(outbox: Outbox) -> None:
    with outbox.open() as messages:
        messages.start()
        messages.put(CHAT, "bad", pages("<div>no</div>"), is_final=True)
        outbox.wait("bad")
    assert outbox.texts() == ["<div>no</div>"]


def test_a_chat_that_cannot_be_written_to_is_given_up(outbox: Outbox) -> None:
    outbox.api.say(8, "hello")
    outbox.api.block(8)
    with outbox.open() as messages:
        messages.put("8", "lost", pages("lost"), is_final=True)
        messages.put(CHAT, "a", pages("a"), is_final=True)
        messages.start()
        outbox.wait("a")
        assert messages.list_open("8") == {}
    assert outbox.gone == ["8"]


def test_too_many_requests_are_waited_out(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    outbox.api.interval_seconds = 20 * SHORT_SECONDS  # slower than the sender believes
    with outbox.open() as messages:
        messages.start()
        for number in range(6):
            messages.put(CHAT, f"i{number}", pages(str(number)), is_final=True)
        for number in range(6):
            outbox.wait(f"i{number}")
    assert outbox.texts() == [str(number) for number in range(6)]
    assert outbox.api.refusals[429] > 0


def drive(limit: RateLimit, count: int) -> list[float]:
    """Send as soon as it is allowed; return the times."""
    pace, now, times = ChatPace(limit), 0.0, list[float]()
    for _ in range(count):
        now = max(now, pace.due_at)
        times.append(now)
        pace.record(now)
    return times


def test_a_person_gets_one_message_per_second_and_a_group_twenty_per_minute() -> None:
    private = drive(RateLimit(1.0), 30)
    assert all(after - before >= 1.0 for before, after in pairwise(private))
    group = drive(RateLimit(1.0, max_per_minute=20), 90)
    counts: Callable[[float], int] = lambda begin: sum(begin <= at < begin + 60 for at in group)  # noqa: E731
    assert max(map(counts, group)) == 20
    assert group[89] < 5 * 60


def test_a_pause_that_was_asked_for_is_kept() -> None:
    pace = ChatPace(RateLimit(1.0))
    pace.postpone(10.0, 7.0)
    pace.record(10.0)
    assert pace.due_at == 17.0


def test_an_older_edit_that_is_under_way_is_not_taken_for_the_last_state(outbox: Outbox) -> None:
    """The message says the last state already, and an edit is about to overwrite it."""
    begun, may_go_on = threading.Event(), threading.Event()

    def hold_second_edit(method: str) -> str:
        if method == "editMessageText" and outbox.api.list_messages(ANN)[0].edits == 1:
            begun.set()
            assert may_go_on.wait(60)
        return ""

    outbox.api.fault = hold_second_edit
    with outbox.open() as messages:
        messages.start()
        messages.put(CHAT, "turn", pages("first"), is_final=False)
        outbox.api.wait_for_text(ANN, "first")
        messages.put(CHAT, "turn", pages("the end"), is_final=False)
        outbox.api.wait_for_text(ANN, "the end")
        messages.put(CHAT, "turn", pages("not the end"), is_final=False)
        assert begun.wait(60)
        messages.put(CHAT, "turn", pages("the end"), is_final=True)
        assert not messages.is_delivered(CHAT, "turn")
        may_go_on.set()
        outbox.wait("turn")
    assert outbox.texts() == ["the end"]
