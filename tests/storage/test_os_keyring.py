import os
import subprocess
import sys
from pathlib import Path

import pytest
from codekernel.storage.vault import os_keyring

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the session bus is Linux's")


@linux_only
def test_the_session_bus_is_named_when_the_environment_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "")
    bus = tmp_path / str(os.getuid()) / "bus"
    bus.parent.mkdir()
    os_keyring.set_session_bus_address(tmp_path)
    assert os.environ["DBUS_SESSION_BUS_ADDRESS"] == ""
    bus.touch()
    os_keyring.set_session_bus_address(tmp_path)
    assert os.environ["DBUS_SESSION_BUS_ADDRESS"] == f"unix:path={bus}"


@linux_only
def test_a_session_bus_that_is_named_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/elsewhere")
    bus = tmp_path / str(os.getuid()) / "bus"
    bus.parent.mkdir()
    bus.touch()
    os_keyring.set_session_bus_address(tmp_path)
    assert os.environ["DBUS_SESSION_BUS_ADDRESS"] == "unix:path=/elsewhere"


ASK = """
import ctypes.util
looked_for = []
ctypes.util.find_library = looked_for.append
from codekernel.storage.vault import os_keyring
try:
    os_keyring.read_secret("nobody")
except os_keyring.KeyringUnavailable:
    pass
import keyring
assert keyring.get_keyring()
print(looked_for)
"""


@pytest.mark.skipif(sys.platform == "darwin", reason="there they are looked for with reason")
def test_no_library_of_macos_is_looked_for_elsewhere() -> None:
    """Looking for one runs a compiler, which writes into the folder for temporary files."""
    done = subprocess.run(
        [sys.executable, "-c", ASK], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "[]\n", done.stderr
