"""The long connection: events, answers, pings, and being dialled again."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from codekernel.adapters.lark.api import LarkApi
from codekernel.adapters.lark.connection import EventHandler, LongConnection
from codekernel.errors import KernelError
from support.lark_platform import APP_ID, APP_SECRET, LarkPlatform


@contextmanager
def connect(platform: LarkPlatform, handle: EventHandler) -> Iterator[LongConnection]:
    api = LarkApi(APP_ID, APP_SECRET, platform.url)
    connection = LongConnection(api.get_endpoint, handle)
    connection.start()
    platform.wait_until(lambda: platform.connection_count == 1)
    yield connection
    connection.stop()
    api.close()


@pytest.fixture
def platform() -> Iterator[LarkPlatform]:
    with LarkPlatform(resend_seconds=0.5) as opened:
        yield opened


def test_an_event_is_handled_and_answered_whole_and_in_parts(platform: LarkPlatform) -> None:
    heard: list[str] = []

    def handle(event: dict[str, Any]) -> dict[str, Any] | None:
        heard.append(event["event"]["message"]["content"])
        return {"said": len(heard)}

    with connect(platform, handle):
        for number, parts in enumerate((1, 5), 1):
            event = platform.say(f"hello {number}", parts=parts)
            platform.wait_until(event.answered.is_set)
            assert event.answers == [{"said": number}]
    assert heard == ['{"text": "hello 1"}', '{"text": "hello 2"}']


def test_an_event_that_fails_is_not_acknowledged_and_comes_again(platform: LarkPlatform) -> None:
    tries: list[int] = []

    def handle(_: dict[str, Any]) -> None:
        tries.append(1)
        if len(tries) < 3:
            raise KernelError("the disk is full")

    with connect(platform, handle):
        event = platform.say("hello")
        platform.wait_until(event.answered.is_set)
    assert event.sent_count >= 3


def test_a_slow_click_does_not_hold_up_messages(platform: LarkPlatform) -> None:
    go_on = threading.Event()

    def handle(event: dict[str, Any]) -> dict[str, Any] | None:
        if event["header"]["event_type"] == "card.action.trigger":
            go_on.wait(60)
            return {"toast": {}}
        return None

    with connect(platform, handle):
        click = platform.push("card.action.trigger", {})
        message = platform.say("hello")
        platform.wait_until(message.answered.is_set)
        assert not click.answered.is_set()
        go_on.set()
        platform.wait_until(click.answered.is_set)
    assert {"toast": {}} in click.answers


def test_a_connection_that_is_cut_is_dialled_again(platform: LarkPlatform) -> None:
    with connect(platform, lambda _: None) as connection:
        for _ in range(2):
            platform.cut_connections()
            event = platform.say("hello")
            platform.wait_until(event.answered.is_set)
        assert connection.is_connected
        assert connection.problem == ""


def test_pings_keep_the_connection_and_follow_the_interval_that_the_platform_asks_for(
    platform: LarkPlatform,
) -> None:
    with connect(platform, lambda _: None) as connection:
        platform.wait_until(lambda: platform.pings >= 3)
        assert connection.is_connected
        assert platform.count_connections() == 1, "it is still the first one"


def test_wrong_credentials_are_a_problem_that_can_be_read(platform: LarkPlatform) -> None:
    api = LarkApi(APP_ID, "wrong", platform.url)
    connection = LongConnection(api.get_endpoint, lambda _: None)
    connection.start()
    platform.wait_until(lambda: 1000040344 in platform.refused)
    platform.wait_until(lambda: connection.problem != "")
    assert "app_id or app_secret is invalid" in connection.problem
    connection.stop()
    api.close()
