import os
import sys
from pathlib import Path

import pytest

from kernel.storage import os_keyring

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the session bus is Linux's")


@linux_only
def test_the_session_bus_is_named_when_the_environment_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "")
    bus = tmp_path / str(os.getuid()) / "bus"
    bus.parent.mkdir()
    os_keyring.point_at_session_bus(tmp_path)
    assert os.environ["DBUS_SESSION_BUS_ADDRESS"] == ""
    bus.touch()
    os_keyring.point_at_session_bus(tmp_path)
    assert os.environ["DBUS_SESSION_BUS_ADDRESS"] == f"unix:path={bus}"


@linux_only
def test_a_session_bus_that_is_named_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/elsewhere")
    bus = tmp_path / str(os.getuid()) / "bus"
    bus.parent.mkdir()
    bus.touch()
    os_keyring.point_at_session_bus(tmp_path)
    assert os.environ["DBUS_SESSION_BUS_ADDRESS"] == "unix:path=/elsewhere"
