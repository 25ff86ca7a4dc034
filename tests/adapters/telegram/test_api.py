import logging
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from codekernel.adapters.telegram.api import TelegramApi, TelegramRefused, TelegramUnreachable
from support.bot_api import TOKEN, BotApi, serve_bot_api
from support.telegram_world import ANN

CHAT = str(ANN)


@pytest.fixture
def api() -> BotApi:
    return BotApi(interval_seconds=0)


@pytest.fixture
def client(api: BotApi) -> Iterator[TelegramApi]:
    api.say(ANN, "/start")
    with serve_bot_api(api) as address, closing(TelegramApi(TOKEN, address)) as opened:
        yield opened


def test_updates_are_acknowledged_by_the_next_request(api: BotApi, client: TelegramApi) -> None:
    api.say(ANN, "second")
    first, second = client.get_updates(0, 1)
    assert client.get_updates(first["update_id"] + 1, 1) == [second]
    assert client.get_updates(second["update_id"] + 1, 0) == []


def test_a_stop_ends_a_request_that_waits(api: BotApi, client: TelegramApi) -> None:
    ended = threading.Event()

    def poll() -> None:
        with pytest.raises(TelegramUnreachable):
            client.get_updates(2000, 50)
        ended.set()

    thread = threading.Thread(target=poll)
    thread.start()
    api.wait_until(lambda: "getUpdates" in api.calls)
    client.close()
    assert ended.wait(60)
    thread.join()
    with pytest.raises(TelegramUnreachable, match="stopped"):
        client.get_me()


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ("<div>", "unsupported start tag"),
        ("<b>", "can't find end tag"),
        ("</b>", "unexpected end tag"),
        ("<b><i></b></i>", "unmatched end tag"),
        ("<b", "unclosed start tag"),
        ("x" * 4097, "message is too long"),
        ("😀" * 2049, "message is too long"),
        (" \n", "message text is empty"),
    ],
)
def test_a_refusal_is_told_with_the_words_of_the_platform(
    client: TelegramApi, html: str, words: str
) -> None:
    with pytest.raises(TelegramRefused) as refused:
        client.send_message(CHAT, html)
    assert words in refused.value.description
    assert not refused.value.is_passing


def test_length_is_counted_after_the_entities_are_parsed(client: TelegramApi) -> None:
    assert client.send_message(CHAT, f"<b>{'&lt;' * 4096}</b>")


def test_an_edit_that_changes_nothing_is_recognised(client: TelegramApi) -> None:
    number = client.send_message(CHAT, "same")
    with pytest.raises(TelegramRefused) as refused:
        client.edit_message(CHAT, number, "same")
    assert refused.value.is_unchanged


def test_the_pause_that_telegram_asks_for_is_known(api: BotApi, client: TelegramApi) -> None:
    api.interval_seconds = 5
    client.send_message(CHAT, "one")
    with pytest.raises(TelegramRefused) as refused:
        client.send_message(CHAT, "two")
    assert refused.value.is_rate_limited
    assert refused.value.retry_after_seconds == 5


@pytest.mark.parametrize("fault", ["before", "after", "half"])
def test_no_answer_leaves_open_whether_it_was_done(
    api: BotApi, client: TelegramApi, fault: str
) -> None:
    api.fault = lambda _method: fault
    with pytest.raises(TelegramUnreachable) as failed:
        client.send_message(CHAT, "hello")
    assert failed.value.is_sent


def test_a_host_that_is_not_there_has_done_nothing() -> None:
    with serve_bot_api(BotApi()) as address:
        pass
    with closing(TelegramApi(TOKEN, address)) as client:
        with pytest.raises(TelegramUnreachable, match="refused the connection") as failed:
            client.get_me()
        assert not failed.value.is_sent


@pytest.mark.parametrize("base", ["http://127.0.0.1:1/\x00", "nonsense", "http://[::1"])
def test_an_impossible_address_is_explained(base: str) -> None:
    with (
        closing(TelegramApi(TOKEN, base)) as client,
        pytest.raises(TelegramUnreachable, match="makes no address"),
    ):
        client.get_me()


def test_the_token_is_in_no_error_and_no_log(
    api: BotApi, client: TelegramApi, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client.get_me()
    errors: list[BaseException] = []
    api.fault = lambda _method: "before"
    with pytest.raises(TelegramUnreachable) as failed:
        client.get_me()
    errors.append(failed.value)
    with serve_bot_api(BotApi()) as address, closing(TelegramApi("1:wrong", address)) as other:
        with pytest.raises(TelegramRefused, match="BotFather") as refused:
            other.get_me()
        errors.append(refused.value)
    assert TOKEN not in caplog.text
    assert TOKEN not in "".join(f"{error!r}{error.__cause__!r}" for error in errors)
