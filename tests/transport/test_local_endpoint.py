"""The endpoint of whichever system this is: a Unix socket, or a named pipe of Windows."""

import os
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from codekernel.errors import EndpointUnavailable
from codekernel.transport.local_endpoint import (
    MAX_SOCKET_PATH_BYTES,
    LocalListener,
    LocalPipe,
    choose_endpoint_path,
    connect_local,
)
from support.environ import Environ

JOIN_TIMEOUT_SECONDS = 60
Ends = tuple[LocalPipe, LocalPipe]


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[LocalListener]:
    listening = LocalListener(tmp_path / "s")
    yield listening
    listening.close()


@pytest.fixture
def ends(listener: LocalListener) -> Iterator[Ends]:
    """A client and the kernel's side of it."""
    client = connect_local(listener.path)
    server = listener.accept()
    assert server
    yield client, server
    client.close()
    server.close()


@pytest.fixture
def runtime() -> Iterator[Path]:
    """A folder with a short path, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="r") as place:
        yield Path(place)


def read_all(pipe: LocalPipe, size: int) -> bytes:
    received = b""
    while len(received) < size:
        received += pipe.read(1000)
    return received


def test_a_connection_carries_bytes_both_ways_and_ends(ends: Ends) -> None:
    client, server = ends
    client.write(b"question")
    assert server.read(100) == b"question"
    server.write(b"answer")
    assert client.read(100) == b"answer"
    client.end_writing()
    assert [server.read(100), server.read(100)] == [b"", b""]
    server.write(b"last words")
    server.close()
    assert [client.read(100), client.read(100)] == [b"last words", b""]


def test_long_content_arrives_whole_in_small_pieces(ends: Ends) -> None:
    client, server = ends
    content = os.urandom(1_000_000)
    writer = threading.Thread(target=client.write, args=(content,))
    writer.start()
    assert read_all(server, len(content)) == content
    writer.join(JOIN_TIMEOUT_SECONDS)


@pytest.mark.parametrize("ending", ["close_reading", "close"])
def test_ending_wakes_the_thread_that_reads(ends: Ends, ending: str) -> None:
    client, _ = ends

    def read() -> None:
        with suppress(OSError):  # it was closed before
            assert client.read(100) == b""

    reader = threading.Thread(target=read)
    reader.start()
    getattr(client, ending)()
    reader.join(JOIN_TIMEOUT_SECONDS)
    assert not reader.is_alive()


def test_reading_and_writing_end_at_their_timeout_and_go_on(ends: Ends) -> None:
    client, server = ends
    server.set_timeout(0.01)
    with pytest.raises(TimeoutError):
        server.read(100)
    with pytest.raises(TimeoutError):
        server.write(b"x" * 10_000_000)
    server.set_timeout(None)
    client.write(b"late")
    assert server.read(100) == b"late"


def test_writing_to_a_peer_that_is_gone_fails(ends: Ends) -> None:
    client, server = ends
    server.close()
    with pytest.raises(OSError):  # noqa: PT011, PT012 - each system has its own, sooner or later
        for _ in range(10):
            client.write(b"x" * 100_000)


def test_finishing_waits_until_the_other_side_has_closed(ends: Ends) -> None:
    client, server = ends
    client.write(b"unread")
    finisher = threading.Thread(target=server.finish_writing, args=(JOIN_TIMEOUT_SECONDS,))
    finisher.start()
    assert client.read(100) == b""
    client.close()
    finisher.join(JOIN_TIMEOUT_SECONDS)
    assert not finisher.is_alive()


def test_many_connect_at_once(listener: LocalListener) -> None:
    accepted: list[LocalPipe] = []

    def accept_all() -> None:
        while pipe := listener.accept():
            accepted.append(pipe)
            pipe.write(b"welcome")

    accepting = threading.Thread(target=accept_all)
    accepting.start()
    clients: list[LocalPipe] = []

    def connect() -> None:
        clients.append(connect_local(listener.path))

    connecting = [threading.Thread(target=connect) for _ in range(100)]
    for thread in connecting:
        thread.start()
    for thread in connecting:
        thread.join(JOIN_TIMEOUT_SECONDS)
    assert [client.read(7) for client in clients] == [b"welcome"] * 100
    listener.close()
    accepting.join(JOIN_TIMEOUT_SECONDS)
    assert not accepting.is_alive()
    for pipe in clients + accepted:
        pipe.close()


def test_closing_wakes_the_thread_that_accepts(listener: LocalListener) -> None:
    accepted: list[object] = []
    thread = threading.Thread(target=lambda: accepted.append(listener.accept()))
    thread.start()
    listener.close()
    thread.join(JOIN_TIMEOUT_SECONDS)
    assert accepted == [None]
    assert not listener.path.exists()


def test_a_listener_that_hands_over_keeps_its_connections(tmp_path: Path) -> None:
    events: list[str] = []
    first = LocalListener(tmp_path / "s", lambda: events.append("unlocked"))
    kept = connect_local(tmp_path / "s")
    first_server = first.accept()
    first.hand_over()
    assert (events, (tmp_path / "s").exists()) == (["unlocked"], False)
    with pytest.raises(FileNotFoundError):
        connect_local(tmp_path / "s")
    second = LocalListener(tmp_path / "s")
    moved = connect_local(tmp_path / "s")
    second_server = second.accept()
    assert first_server
    assert second_server
    first_server.write(b"older")
    second_server.write(b"newer")
    assert (kept.read(100), moved.read(100)) == (b"older", b"newer")
    first.close()  # again, at the end of its process
    assert (tmp_path / "s").exists()
    for each in (kept, moved, first_server, second_server, second):
        each.close()


def test_a_stale_endpoint_is_replaced_and_a_new_one_of_another_kernel_is_kept(
    tmp_path: Path,
) -> None:
    first = LocalListener(tmp_path / "s")
    second = LocalListener(tmp_path / "s")
    first.close()
    client = connect_local(tmp_path / "s")
    server = second.accept()
    assert server
    server.write(b"second")
    assert client.read(100) == b"second"
    for each in (client, server, second):
        each.close()


def test_without_a_kernel_connecting_fails(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        connect_local(tmp_path / "s")


@pytest.mark.skipif(sys.platform == "win32", reason="folders there inherit an access list")
def test_the_folder_of_the_endpoint_is_private(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o755)
    path = choose_endpoint_path(tmp_path)
    assert path.parent == tmp_path / "run"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("obstacle", ["too long", "a file"])
def test_where_userdata_has_no_room_for_a_socket_the_runtime_folder_has(
    tmp_path: Path, runtime: Path, environ: Environ, obstacle: str
) -> None:
    environ["XDG_RUNTIME_DIR"] = str(runtime)
    user_data = tmp_path / ("x" * MAX_SOCKET_PATH_BYTES if obstacle == "too long" else "u")
    user_data.mkdir()
    if obstacle == "a file":
        (user_data / "run").write_text("")
    path = choose_endpoint_path(user_data)
    if sys.platform == "win32" and obstacle == "too long":
        assert path.parent == user_data / "run"  # a pipe has a name of its own
        return
    assert path.parent == runtime / "codekernel"
    assert choose_endpoint_path(user_data) == path
    assert choose_endpoint_path(tmp_path / ("y" * MAX_SOCKET_PATH_BYTES)) != path
    LocalListener(path).close()


def test_a_runtime_folder_too_long_for_a_socket_is_replaced_by_the_temporary_folder(
    tmp_path: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch, environ: Environ
) -> None:
    user_data, given = tmp_path / "u", tmp_path / ("x" * MAX_SOCKET_PATH_BYTES)
    given.mkdir()
    user_data.mkdir()
    (user_data / "run").write_text("in the way")
    environ["XDG_RUNTIME_DIR"] = str(given)
    monkeypatch.setattr(tempfile, "tempdir", str(runtime))
    path = choose_endpoint_path(user_data)
    assert path.is_relative_to(given if sys.platform == "win32" else runtime)
    LocalListener(path).close()
    monkeypatch.setattr(tempfile, "tempdir", str(given))
    if sys.platform != "win32":
        with pytest.raises(EndpointUnavailable, match="too long"):
            choose_endpoint_path(user_data)


@pytest.mark.skipif(sys.platform == "win32", reason="making links needs a privilege there")
def test_a_planted_folder_is_refused(tmp_path: Path, runtime: Path, environ: Environ) -> None:
    environ["XDG_RUNTIME_DIR"] = str(runtime)
    (tmp_path / "run").write_text("in the way")
    (tmp_path / "elsewhere").mkdir()
    (runtime / "codekernel").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    with pytest.raises(EndpointUnavailable, match="link"):
        choose_endpoint_path(tmp_path)
