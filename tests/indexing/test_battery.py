"""Batteries and chargers as Linux lists them, in folders of the test's own."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from codekernel.domain.settings import Performance
from codekernel.indexing import battery
from codekernel.indexing.battery import is_on_battery
from codekernel.indexing.index_plan import IndexTimings
from indexing.harness import Open, static_plan

FULL = {"type": "Battery", "status": "Full", "present": "1"}
EMPTYING = {"type": "Battery", "status": "Discharging", "present": "1"}
PLUGGED, UNPLUGGED = {"type": "Mains", "online": "1"}, {"type": "Mains", "online": "0"}
MOUSE = {"type": "Battery", "status": "Discharging", "scope": "Device"}

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a folder")


@pytest.fixture
def timings() -> IndexTimings:
    return IndexTimings(embed_retry=0.02)


@pytest.fixture
def supplies(tmp_path: Path) -> Path:
    """The folder in which the machine's batteries and chargers are looked for."""
    folder = tmp_path / "power_supply"
    folder.mkdir()
    return folder


@pytest.fixture
def battery_probe(supplies: Path) -> Callable[[], bool]:
    return partial(is_on_battery, supplies)


def place(supplies: Path, name: str, files: dict[str, str]) -> None:
    (supplies / name).mkdir(exist_ok=True)
    for file, content in files.items():
        (supplies / name / file).write_text(f"{content}\n", encoding="utf-8")


@linux
@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ({}, False),
        ({"AC": PLUGGED}, False),
        ({"AC": UNPLUGGED, "BAT0": EMPTYING}, True),
        ({"BAT0": EMPTYING}, True),
        ({"BAT0": FULL, "BAT1": EMPTYING, "ADP1": UNPLUGGED}, True),
        ({"AC": PLUGGED, "BAT0": FULL}, False),
        ({"AC": PLUGGED, "BAT0": EMPTYING}, False),  # a charger too weak for the load
        ({"AC": UNPLUGGED, "BAT0": {**EMPTYING, "status": "Charging"}}, False),
        ({"AC": UNPLUGGED, "BAT0": {**EMPTYING, "status": "Unknown"}}, False),
        ({"ucsi-source-psy-1": {"type": "USB", "online": "1"}, "BAT0": EMPTYING}, False),
        ({"ucsi-source-psy-1": {"type": "USB_C", "online": "2"}, "BAT0": EMPTYING}, False),
        ({"ucsi-source-psy-1": {"type": "USB", "online": "0"}, "BAT0": EMPTYING}, True),
        ({"hidpp_battery_0": MOUSE}, False),
        ({"AC": PLUGGED, "hidpp_battery_0": MOUSE}, False),
        ({"hidpp_battery_0": MOUSE, "BAT0": EMPTYING, "AC": UNPLUGGED}, True),
        ({"BAT0": {}}, False),
    ],
)
def test_a_machine_is_on_battery_when_its_own_is_emptied_and_no_charger_is_there(
    supplies: Path, there: dict[str, dict[str, str]], *, expected: bool
) -> None:
    for name, files in there.items():
        place(supplies, name, files)
    assert is_on_battery(supplies) == expected


@linux
def test_without_the_folder_there_is_no_battery(supplies: Path) -> None:
    supplies.rmdir()
    assert not is_on_battery(supplies)


@linux
def test_what_cannot_be_read_is_no_battery(supplies: Path) -> None:
    place(supplies, "BAT0", {"type": "Battery"})
    (supplies / "BAT0" / "status").mkdir()
    assert not is_on_battery(supplies)


def test_this_machine_has_an_answer() -> None:
    assert is_on_battery() in {True, False}
    assert battery._is_unplugged() in {True, False}


@pytest.mark.slow
@linux
def test_vectors_wait_for_mains_power_if_the_settings_ask_and_words_do_not(
    supplies: Path, open_index: Open
) -> None:
    place(supplies, "AC", UNPLUGGED)
    place(supplies, "BAT0", EMPTYING)
    opened = open_index(start=False)
    opened.write("login.py", "def check_password(user): ...\n")
    sparing = Performance(pause_on_battery=True)
    opened.index.start(replace(static_plan(1500), performance=sparing))
    opened.wait_until(lambda: "mains power" in opened.index.get_status().trouble, "it waits")
    opened.wait_until(lambda: opened.search_lexical("check_password") == ["login.py"], "words")
    assert sum(opened.count_vectors()) == 0
    place(supplies, "AC", PLUGGED)
    opened.wait_until_idle()
    assert opened.count_vectors() == [1]


@linux
@pytest.mark.parametrize("timings", [IndexTimings(embed_retry=600.0)])
def test_settings_that_no_longer_wait_for_mains_power_act_at_once(
    supplies: Path, open_index: Open
) -> None:
    place(supplies, "AC", UNPLUGGED)
    place(supplies, "BAT0", EMPTYING)
    opened = open_index(start=False)
    opened.write("login.py", "def check_password(user): ...\n")
    sparing = Performance(pause_on_battery=True)
    opened.index.start(replace(static_plan(1500), performance=sparing))
    opened.wait_until(lambda: "mains power" in opened.index.get_status().trouble, "it waits")
    opened.index.reconfigure(static_plan(1500))
    opened.wait_until_idle()
    assert opened.count_vectors() == [1]
