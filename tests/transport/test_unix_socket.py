"""Accounts at a Unix socket; the test of another one needs root, to be one."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from codekernel.errors import EndpointUnavailable
from codekernel.transport import unix_socket
from codekernel.transport.unix_socket import UnixSocketListener, connect_unix_socket

NOBODY = 65534
JOIN_TIMEOUT_SECONDS = 60
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another account")

BECOME_NOBODY = f"""
import os, socket, sys
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
"""

# Prints "ready", then accepts one connection and prints what it was sent.
PLANTED = """
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
listening.listen()
print("ready", flush=True)
print(listening.accept()[0].recv(100), flush=True)
"""

INTRUDER = """
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
try:
    connection.sendall(b"let me in")
    print(connection.recv(100))
except OSError:
    print("refused")
"""


def start_as_nobody(program: str, path: Path) -> "subprocess.Popen[bytes]":
    # Python itself may lie where only root can read.
    command = [sys.executable, "-c", BECOME_NOBODY + program, str(path)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """A folder that every account can enter, as if somebody had opened it."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(folder.stat().st_mode | 0o755)
    tmp_path.chmod(0o777)
    return tmp_path


@needs_root
def test_nothing_is_sent_to_a_socket_that_another_account_has_planted(open_folder: Path) -> None:
    with start_as_nobody(PLANTED, open_folder / "s") as planted:
        assert planted.stdout
        assert planted.stdout.readline() == b"ready\n"
        with pytest.raises(EndpointUnavailable, match="another account"):
            connect_unix_socket(open_folder / "s")
        assert planted.stdout.readline() == b"b''\n"


@needs_root
def test_another_account_is_not_accepted_and_disturbs_nobody(open_folder: Path) -> None:
    listener = UnixSocketListener(open_folder / "s")
    (open_folder / "s").chmod(0o777)
    accepted: list[object] = []
    accepting = threading.Thread(target=lambda: accepted.append(listener.accept()))
    accepting.start()
    with start_as_nobody(INTRUDER, open_folder / "s") as intruder:
        assert intruder.stdout
        assert intruder.stdout.read() in {b"refused\n", b"b''\n"}
    assert accepted == []
    client = connect_unix_socket(open_folder / "s")
    accepting.join(JOIN_TIMEOUT_SECONDS)
    assert len(accepted) == 1
    client.close()
    listener.close()
    for each in accepted:
        assert isinstance(each, unix_socket.SocketPipe)
        each.close()


def test_the_account_at_the_other_end_is_known() -> None:
    one, other = socket.socketpair()
    assert unix_socket.read_peer_uid(one) == os.geteuid()
    one.close()
    other.close()
