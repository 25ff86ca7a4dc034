"""The programs attached to the kernel, each with its channel, its lanes and its sessions.

A client that ends takes its own sessions along and nobody else's. ``codekernel status`` shows them.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codekernel.dispatch.dispatcher import Dispatcher
from codekernel.dispatch.notifications import NotificationSender
from codekernel.dispatch.routing import Lane, WorkerLane
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Repo, RepositoryIndexStatus
from codekernel.errors import KernelError, KernelRetired, Stopping, WrongParam
from codekernel.protocol import MAIN_SESSION_ID
from codekernel.protocol.messages.kernel import (
    ClientEntry,
    KernelInfo,
    KernelStatus,
    OpenIndexEntry,
)
from codekernel.protocol.messages.repos import ReposChanged
from codekernel.runtime.sessions import Session, SessionSupervisor
from codekernel.transport.lines import MAX_LINE_BYTES, Channel, Line, OversizedLine
from codekernel.transport.local_endpoint import LocalPipe

# A front end waits for the end of its kernel; these bound what it may have to wait for.
LANES_STOP_TIMEOUT_SECONDS = 3.0

SESSIONS_STOP_TIMEOUT_SECONDS = 3.0

DRAIN_TIMEOUT_SECONDS = 1.0

FLUSH_TIMEOUT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """Who is attached; ``has_mirror`` if it reads histories in their repositories."""

    name: str
    pid: int | None = None
    has_mirror: bool = False
    reattaches: bool = False  # whether it goes on with another kernel by itself
    attached_at: float = field(default_factory=time.time)


@dataclass(frozen=True, slots=True, eq=False)
class Client:
    """An attached program; built by app/."""

    info: ClientInfo
    channel: Channel
    dispatcher: Dispatcher[Any, Any]
    lanes: Mapping[Lane, WorkerLane]
    supervisor: SessionSupervisor
    announcer: NotificationSender
    stopping: CancelToken
    disconnect: Callable[[], None]  # ends ``read_lines``
    is_watching_repos: threading.Event
    ended: threading.Event = field(default_factory=threading.Event)

    def list_repo_names(self) -> list[str]:
        """Return what it has open."""
        return [session.repo.name for session in self.supervisor.list_sessions()]

    def list_repo_ids(self) -> list[int]:
        """Return the ids of what it has open."""
        return [session.repo.id for session in self.supervisor.list_sessions()]

    def read_lines(self, lines: Iterable[Line]) -> None:
        """Hand every line to the dispatcher, until the other side has closed."""
        for line in lines:
            if isinstance(line, OversizedLine):
                self.dispatcher.reject(line.prefix, _make_line_too_long_error(line))
            else:
                self.dispatcher.accept(line)

    def release(self) -> None:
        """Disconnect it if nothing of it is unanswered: another kernel serves it from then on."""
        if self.dispatcher.close_if_idle():
            self.disconnect()

    @property
    def is_released(self) -> bool:
        """Whether another kernel serves it."""
        return self.dispatcher.is_closed

    def shut_down(self, say_last: Callable[[], None] | None = None) -> bool:
        """End the client's work in order; true only if everything ended cleanly.

        ``say_last`` may send a line after the last reply.
        """
        refusal: KernelError = Stopping("the kernel is stopping")
        self.stopping.cancel()
        for lane in self.lanes.values():
            lane.close(refusal)
        ended = [lane.join(LANES_STOP_TIMEOUT_SECONDS) for lane in self.lanes.values()]
        ended += [
            self.supervisor.close_all(
                refusal, SESSIONS_STOP_TIMEOUT_SECONDS, with_workspaces=self.is_released
            )
        ]
        self.dispatcher.drain(DRAIN_TIMEOUT_SECONDS, refusal)
        if say_last:
            say_last()
        ended += [self.channel.close(FLUSH_TIMEOUT_SECONDS)]
        self.ended.set()
        return all(ended)


@dataclass(frozen=True, slots=True, eq=False)
class ModeClient:
    """An attached program that speaks another protocol; built by app/.

    ``serve`` answers its lines until they end.
    """

    info: ClientInfo
    pipe: LocalPipe
    supervisor: SessionSupervisor
    serve: Callable[[Iterator[Line]], None]
    has_unanswered: Callable[[], bool]

    def list_repo_names(self) -> list[str]:
        """Return what it has open."""
        return [session.repo.name for session in self.supervisor.list_sessions()]

    def list_repo_ids(self) -> list[int]:
        """Return the ids of what it has open."""
        return [session.repo.id for session in self.supervisor.list_sessions()]

    def release(self) -> None:
        """Disconnect it if nothing of it is unanswered: another kernel serves it from then on."""
        if not self.has_unanswered():
            self.pipe.close_reading()

    def shut_down(self) -> bool:
        """Disconnect it and end its sessions."""
        self.pipe.close()
        refusal = Stopping("the kernel is stopping")
        return self.supervisor.close_all(refusal, SESSIONS_STOP_TIMEOUT_SECONDS)


AnyClient = Client | ModeClient


class ClientTable:
    """The attached clients; safe to use from any thread."""

    def __init__(self, on_empty: Callable[[], None]) -> None:
        """``on_empty`` is called whenever the last client has gone."""
        self._clients: list[AnyClient] = []
        self._ending_count = 0
        self._on_empty = on_empty
        self._lock = threading.Lock()
        self._empty_since: float | None = time.monotonic()
        self.had_client = False
        self._is_closed = False

    def add(self, client: AnyClient) -> None:
        """Add a client. Raises KernelRetired if the kernel is leaving."""
        with self._lock:
            if self._is_closed:
                raise KernelRetired("the kernel is stopping")
            self._clients.append(client)
            self._empty_since = None
            self.had_client = True

    @contextmanager
    def remove(self, client: AnyClient) -> Iterator[bool]:
        """Take a client out and let the block end it; false if that was done already.

        The table is empty when the block of the last client is left.
        """
        with self._lock:
            was_there = client in self._clients
            if was_there:
                self._clients.remove(client)
                self._ending_count += 1
        try:
            yield was_there
        finally:
            with self._lock:
                self._ending_count -= was_there
                is_empty = was_there and not self._clients and not self._ending_count
                if is_empty:
                    self._empty_since = time.monotonic()
            if is_empty:
                self._on_empty()

    def list_clients(self) -> list[AnyClient]:
        """Return the attached clients, oldest first."""
        with self._lock:
            return list(self._clients)

    def find_open_repos(self) -> dict[int, list[str]]:
        """Return the names of the clients that have a repository open, by its id."""
        found: dict[int, list[str]] = {}
        for client in self.list_clients():
            for repo_id in client.list_repo_ids():
                found.setdefault(repo_id, []).append(client.info.name)
        return found

    def announce_repos_changed(self) -> None:
        """Tell the clients that watch the list of repositories."""
        for client in self.list_clients():
            if isinstance(client, Client) and client.is_watching_repos.is_set():
                client.announcer.send_unanswered(MAIN_SESSION_ID, ReposChanged())

    def remove_all(self) -> list[AnyClient]:
        """Take all clients out, for good."""
        with self._lock:
            self._is_closed = True
            clients, self._clients = self._clients, []
            return clients

    @property
    def seconds_empty(self) -> float | None:
        """How long no client has been attached; None while one is."""
        with self._lock:
            since = self._empty_since
        return None if since is None else time.monotonic() - since


def _make_line_too_long_error(line: OversizedLine) -> WrongParam:
    return WrongParam(
        f"Invalid message format: a line of {line.length} bytes is longer than "
        f"the {MAX_LINE_BYTES} a message may have"
    )


def describe_status(
    info: KernelInfo,
    user_data: Path,
    started_at: float,
    clients: Sequence[AnyClient],
    indexes: list[OpenIndexEntry],
) -> KernelStatus:
    """Return what ``codekernel status`` shows."""
    import psutil  # noqa: PLC0415 - seldom needed

    return KernelStatus(
        kernel_version=info.kernel_version,
        protocol_version=info.protocol_version,
        pid=info.pid,
        user_data=str(user_data),
        started_at=int(started_at * 1000),
        memory_bytes=psutil.Process().memory_info().rss,
        clients=[
            ClientEntry(
                name=client.info.name,
                pid=client.info.pid,
                attached_at=int(client.info.attached_at * 1000),
                repos=client.list_repo_names(),
            )
            for client in clients
        ],
        indexes=indexes,
    )


def describe_open_indexes(
    lingering: Iterable[tuple[Repo, RepositoryIndexStatus]], sessions: Iterable[Session]
) -> list[OpenIndexEntry]:
    """Return the indexes that sessions use, and those that wait for the next one."""
    found = {repo.id: _describe_index(repo, status, in_use=False) for repo, status in lingering}
    for session in sessions:
        status = session.workspace.index.get_status() if session.is_prepared else None
        found[session.repo.id] = _describe_index(session.repo, status, in_use=True)
    return list(found.values())


def _describe_index(
    repo: Repo, status: RepositoryIndexStatus | None, *, in_use: bool
) -> OpenIndexEntry:
    return OpenIndexEntry(
        repo_name=repo.name,
        path=str(repo.path),
        files=status.files if status else 0,
        chunks=status.chunks if status else 0,
        state=status.state if status else "opening",
        in_use=in_use,
    )
