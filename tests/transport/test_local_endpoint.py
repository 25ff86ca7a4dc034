import os
import socket
import stat
import threading
from pathlib import Path

import pytest
from codekernel.errors import EndpointUnavailable
from codekernel.transport import unix_socket
from codekernel.transport.local_endpoint import (
    MAX_SOCKET_PATH_BYTES,
    LocalListener,
    choose_endpoint_path,
    connect_local,
)


def test_a_connection_carries_bytes_both_ways_and_ends(tmp_path: Path) -> None:
    listener = LocalListener(tmp_path / "s")
    client = connect_local(tmp_path / "s")
    server = listener.accept()
    assert server
    client.write(b"question")
    assert server.read(100) == b"question"
    server.write(b"answer")
    assert client.read(100) == b"answer"
    client.end_writing()
    assert server.read(100) == b""
    server.close()
    assert client.read(100) == b""
    client.close()
    listener.close()
    assert not (tmp_path / "s").exists()


def test_closing_wakes_the_thread_that_accepts(tmp_path: Path) -> None:
    listener = LocalListener(tmp_path / "s")
    accepted: list[object] = []
    thread = threading.Thread(target=lambda: accepted.append(listener.accept()))
    thread.start()
    listener.close()
    thread.join(10)
    assert accepted == [None]


def test_a_stale_socket_is_replaced_and_a_new_one_of_another_kernel_is_kept(tmp_path: Path) -> None:
    first = LocalListener(tmp_path / "s")
    second = LocalListener(tmp_path / "s")
    first.close()
    connect_local(tmp_path / "s").close()
    second.close()


def test_without_a_kernel_connecting_fails(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        connect_local(tmp_path / "s")


def test_the_socket_of_another_account_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener = LocalListener(tmp_path / "s")
    monkeypatch.setattr(unix_socket, "read_peer_uid", lambda _: os.geteuid() + 1)
    with pytest.raises(EndpointUnavailable, match="another account"):
        connect_local(tmp_path / "s")
    listener.close()


def test_the_account_at_the_other_end_is_known() -> None:
    one, other = socket.socketpair()
    assert unix_socket.read_peer_uid(one) == os.geteuid()
    one.close()
    other.close()


def test_the_folder_of_the_endpoint_is_private(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o755)
    path = choose_endpoint_path(tmp_path)
    assert path.parent == tmp_path / "run"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("obstacle", ["too long", "a file"])
def test_where_userdata_has_no_room_for_a_socket_the_runtime_folder_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, obstacle: str
) -> None:
    runtime = tmp_path / "r"
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    user_data = tmp_path / ("x" * MAX_SOCKET_PATH_BYTES if obstacle == "too long" else "u")
    user_data.mkdir()
    if obstacle == "a file":
        (user_data / "run").write_text("")
    path = choose_endpoint_path(user_data)
    assert path.parent == runtime / "codekernel"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert choose_endpoint_path(user_data) == path
    assert choose_endpoint_path(tmp_path / ("y" * MAX_SOCKET_PATH_BYTES)) != path


def test_a_planted_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "codekernel").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EndpointUnavailable, match="link"):
        choose_endpoint_path(tmp_path / ("x" * MAX_SOCKET_PATH_BYTES))
