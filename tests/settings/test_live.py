import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from codekernel.domain.settings import GenerationModel, Settings
from codekernel.errors import ApiKeyNotFound, InvalidSettings
from codekernel.settings.live import MAX_OFFERED_MODELS, LiveSettings, OfferedModels
from codekernel.settings.local_models import build_default_settings


@pytest.fixture
def live(tmp_path: Path, machine: dict[str, Any]) -> LiveSettings:
    return LiveSettings(tmp_path / "settings.json", tmp_path / "settings-modified.json", **machine)


@pytest.fixture
def limited(document: Any, write: Callable[[Any], Path]) -> Callable[[int], None]:
    """Write a settings.json with this search limit."""

    def _limited(search_limit: int) -> None:
        document["searchSettings"]["searchLimit"] = search_limit
        write(document)

    return _limited


def test_before_loading_the_defaults_are_in_force(live: LiveSettings) -> None:
    assert live.current == build_default_settings()


def test_loading_puts_the_file_in_force(live: LiveSettings, limited: Callable[[int], None]) -> None:
    limited(7)
    assert live.load() == []
    assert live.current.search_limit == 7


def test_loading_logs_its_warnings_and_returns_them(
    live: LiveSettings, limited: Callable[[int], None], caplog: pytest.LogCaptureFixture
) -> None:
    limited(0)
    with caplog.at_level(logging.WARNING):
        warnings = live.load()
    assert len(warnings) == 1
    assert caplog.messages == warnings


def test_a_first_start_without_a_file_warns_nobody(
    live: LiveSettings, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        live.load()
    assert caplog.messages == []


def test_a_file_that_cannot_be_used_is_remembered_as_trouble_until_it_can(
    live: LiveSettings, limited: Callable[[int], None]
) -> None:
    live.load()
    assert live.load_error == "", "a first start is no trouble"
    limited(0)
    live.load()
    assert "searchLimit" in live.load_error
    with pytest.raises(InvalidSettings):
        live.update()
    assert live.load_error
    limited(7)
    live.update()
    assert live.load_error == ""


def test_an_update_swaps_the_settings_and_tells_every_listener(
    live: LiveSettings, limited: Callable[[int], None]
) -> None:
    received: list[tuple[str, int]] = []
    live.subscribe(lambda settings: received.append(("first", settings.search_limit)))
    live.subscribe(lambda settings: received.append(("second", settings.search_limit)))
    limited(7)
    live.update()
    assert live.current.search_limit == 7
    assert received == [("first", 7), ("second", 7)]


@pytest.mark.parametrize("content", [b"{", b"[]"])
def test_a_failing_update_keeps_the_old_settings_and_tells_nobody(
    live: LiveSettings,
    limited: Callable[[int], None],
    write: Callable[[Any], Path],
    content: bytes,
) -> None:
    received: list[Settings] = []
    limited(7)
    live.update()
    live.subscribe(received.append)
    write(content)
    with pytest.raises(InvalidSettings, match="Failed in checking settings"):
        live.update()
    limited(0)
    with pytest.raises(InvalidSettings, match="must be at least 1"):
        live.update()
    assert live.current.search_limit == 7
    assert received == []


def test_checking_looks_at_the_modified_file_and_changes_nothing(
    live: LiveSettings, limited: Callable[[int], None], document: Any, tmp_path: Path
) -> None:
    limited(7)
    live.update()
    received: list[Settings] = []
    live.subscribe(received.append)
    modified = tmp_path / "settings-modified.json"
    with pytest.raises(InvalidSettings, match=r"there is no file .*settings-modified\.json"):
        live.check_modified()
    document["searchSettings"]["searchLimit"] = 9
    modified.write_text(json.dumps(document), encoding="utf-8")
    live.check_modified()
    document["searchSettings"]["searchLimit"] = 0
    modified.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InvalidSettings, match=r"searchSettings\.searchLimit must be at least 1"):
        live.check_modified()
    assert live.current.search_limit == 7
    assert received == []


def test_who_has_unsubscribed_hears_nothing(
    live: LiveSettings, limited: Callable[[int], None]
) -> None:
    received: list[Settings] = []
    unsubscribe = live.subscribe(received.append)
    live.subscribe(received.append)
    unsubscribe()
    unsubscribe()
    limited(7)
    live.update()
    assert len(received) == 1


def test_a_listener_may_read_subscribe_unsubscribe_and_update(
    live: LiveSettings, limited: Callable[[int], None]
) -> None:
    received: list[tuple[str, int]] = []

    def reconsider(settings: Settings) -> None:
        received.append(("first", settings.search_limit))
        assert live.current is settings
        live.subscribe(lambda _settings: None)()
        if settings.search_limit == 7:
            limited(8)
            live.update()

    live.subscribe(reconsider)
    live.subscribe(lambda settings: received.append(("second", settings.search_limit)))
    limited(7)
    live.update()
    assert live.current.search_limit == 8
    assert received == [
        ("first", 7),
        ("first", 8),
        ("second", 8),
    ]  # no listener gets old settings last


def test_a_listener_sent_away_by_another_is_not_called(
    live: LiveSettings, limited: Callable[[int], None]
) -> None:
    received: list[Settings] = []
    ways_out: list[Callable[[], None]] = []
    live.subscribe(lambda _settings: ways_out[0]())
    ways_out.append(live.subscribe(received.append))
    limited(7)
    live.update()
    assert received == []


def test_a_failing_listener_does_not_silence_the_others(
    live: LiveSettings, limited: Callable[[int], None]
) -> None:
    received: list[Settings] = []

    def fail(_settings: Settings) -> None:
        raise LookupError("a listener's own fault")

    live.subscribe(fail)
    live.subscribe(received.append)
    limited(7)
    with pytest.raises(LookupError, match="own fault"):
        live.update()
    assert received == [live.current]
    assert live.current.search_limit == 7


def test_the_settings_can_be_read_while_a_listener_is_busy(
    live: LiveSettings, limited: Callable[[int], None]
) -> None:
    busy, may_end = threading.Event(), threading.Event()

    def work(_settings: Settings) -> None:
        busy.set()
        assert may_end.wait(60)

    live.subscribe(work)
    limited(7)
    updating = threading.Thread(target=live.update)
    updating.start()
    assert busy.wait(60)
    assert live.current.search_limit == 7
    live.subscribe(lambda _settings: None)()
    may_end.set()
    updating.join(60)
    assert not updating.is_alive()


def test_after_many_updates_at_once_the_last_news_is_the_truth(
    live: LiveSettings, limited: Callable[[int], None]
) -> None:
    received: list[Settings] = []
    live.subscribe(received.append)
    limited(7)
    updates = [threading.Thread(target=live.update) for _ in range(16)]
    for update in updates:
        update.start()
    for update in updates:
        update.join(60)
    assert len(received) == 16
    assert received[-1] is live.current


MINE = GenerationModel("mine", "m-1", "http://h/v1", needs_key=False)
OFFERED = GenerationModel("gpt", "gpt", "http://h/v1", needs_key=False)


def test_an_offered_model_comes_behind_those_of_the_settings() -> None:
    offered = OfferedModels()
    settings = Settings(generation_models=(MINE,))
    assert offered.extend(settings) is settings
    offered.add(OFFERED, "sk-1")
    assert offered.extend(settings).generation_models == (MINE, OFFERED)


def test_the_settings_win_by_name_with_their_own_key() -> None:
    offered = OfferedModels()
    offered.add(OFFERED, "sk-offered")
    settings = Settings(generation_models=(OFFERED,))
    assert offered.extend(settings).generation_models == (OFFERED,)
    find_key = offered.make_key_finder(lambda: settings, lambda _: "sk-stored")
    assert find_key("gpt") == "sk-stored"


def test_the_key_is_the_offered_one_and_others_are_looked_up() -> None:
    def find_stored(name: str) -> str:
        raise ApiKeyNotFound(name)

    offered = OfferedModels()
    offered.add(OFFERED, "sk-1")
    offered.add(OFFERED, "sk-2")
    find_key = offered.make_key_finder(Settings, find_stored)
    assert find_key("gpt") == "sk-2"
    with pytest.raises(ApiKeyNotFound):
        find_key("other")


def test_the_oldest_of_too_many_is_forgotten() -> None:
    offered = OfferedModels()
    for number in range(MAX_OFFERED_MODELS + 1):
        offered.add(GenerationModel(str(number), "m", "http://h", needs_key=False), "")
    names = [model.name for model in offered.extend(Settings()).generation_models]
    assert (len(names), names[0]) == (MAX_OFFERED_MODELS, "1")
