"""The programs attached to the kernel, each with its channel, its lanes and its sessions.

EndpointServer attaches those that come by the local endpoint. A client that ends takes its own
sessions along and nobody else's.
"""

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from codekernel.dispatch.dispatcher import Dispatcher
from codekernel.dispatch.notifications import NotificationSender
from codekernel.dispatch.requests import SendLine
from codekernel.dispatch.routing import Lane, WorkerLane
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import KernelError, Stopping, WrongParam
from codekernel.protocol.envelope import (
    MAIN_SESSION_ID,
    NO_CALLBACK_ID,
    build_request,
    decode_envelope,
    decode_message,
    encode_ascii_json,
)
from codekernel.protocol.messages.kernel import (
    Attach,
    ClientEntry,
    KernelInfo,
    KernelStatus,
    KernelStopping,
    OpenIndexEntry,
)
from codekernel.runtime.sessions import Session, SessionSupervisor
from codekernel.transport.channels import StreamChannel
from codekernel.transport.lines import MAX_LINE_BYTES, Channel, Line, OversizedLine, SpooledLine
from codekernel.transport.local_endpoint import LocalListener, SocketPipe

logger = logging.getLogger(__name__)

# A front end waits for the end of its kernel; these bound what it may have to wait for.
LANES_STOP_TIMEOUT_SECONDS = 3.0

SESSIONS_STOP_TIMEOUT_SECONDS = 3.0

DRAIN_TIMEOUT_SECONDS = 1.0

FLUSH_TIMEOUT_SECONDS = 3.0

# All of the above; what a client's thread waits for if the kernel itself ends the client.
CLIENT_END_TIMEOUT_SECONDS = 10.0

# The mode of clients that speak the lines of PROTOCOL.md.
LINES_MODE = "lines"

# Of those that speak the Model Context Protocol about one folder.
MCP_MODE = "mcp"

# Each takes four threads; beyond it, programs are started by mistake.
MAX_CLIENTS = 256

# A client sends ``attach`` at once; one that does not is not a client.
ATTACH_TIMEOUT_SECONDS = 10.0

# Replies wait for a client that reads slowly; one that leaves this much unread is disconnected by
# the next notification, for the index waits for nobody.
MAX_UNREAD_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """Who is attached; ``has_mirror`` if it reads histories in their repositories."""

    name: str
    pid: int | None = None
    has_mirror: bool = False
    attached_at: float = field(default_factory=time.time)


@dataclass(frozen=True, slots=True, eq=False)
class Client:
    """An attached program; built by app.py."""

    info: ClientInfo
    channel: Channel
    dispatcher: Dispatcher[Any, Any]
    lanes: Mapping[Lane, WorkerLane]
    supervisor: SessionSupervisor
    announcer: NotificationSender
    stopping: CancelToken
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

    def shut_down(self, say_last: Callable[[], None] | None = None) -> bool:
        """End the client's work in order; true only if everything ended cleanly.

        ``say_last`` may send a line after the last reply.
        """
        refusal: KernelError = Stopping("the kernel is stopping")
        self.stopping.cancel()
        for lane in self.lanes.values():
            lane.close(refusal)
        ended = [lane.join(LANES_STOP_TIMEOUT_SECONDS) for lane in self.lanes.values()]
        ended += [self.supervisor.close_all(refusal, SESSIONS_STOP_TIMEOUT_SECONDS)]
        self.dispatcher.drain(DRAIN_TIMEOUT_SECONDS, refusal)
        if say_last:
            say_last()
        ended += [self.channel.close(FLUSH_TIMEOUT_SECONDS)]
        self.ended.set()
        return all(ended)


@dataclass(frozen=True, slots=True, eq=False)
class ModeClient:
    """An attached program that speaks another protocol; built by app.py.

    ``serve`` answers its lines until they end.
    """

    info: ClientInfo
    pipe: SocketPipe
    supervisor: SessionSupervisor
    serve: Callable[[Iterator[Line]], None]

    def list_repo_names(self) -> list[str]:
        """Return what it has open."""
        return [session.repo.name for session in self.supervisor.list_sessions()]

    def list_repo_ids(self) -> list[int]:
        """Return the ids of what it has open."""
        return [session.repo.id for session in self.supervisor.list_sessions()]

    def shut_down(self, _say_last: Callable[[], None] | None = None) -> bool:
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
        self._on_empty = on_empty
        self._lock = threading.Lock()
        self._empty_since: float | None = time.monotonic()
        self.had_client = False

    def add(self, client: AnyClient) -> None:
        """Add a client."""
        with self._lock:
            self._clients.append(client)
            self._empty_since = None
            self.had_client = True

    def remove(self, client: AnyClient) -> bool:
        """Take a client out; false if that was done already."""
        with self._lock:
            if client not in self._clients:
                return False
            self._clients.remove(client)
            is_empty = not self._clients
            if is_empty:
                self._empty_since = time.monotonic()
        if is_empty:
            self._on_empty()
        return True

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

    def remove_all(self) -> list[AnyClient]:
        """Take all clients out."""
        with self._lock:
            clients, self._clients = self._clients, []
            return clients

    @property
    def seconds_empty(self) -> float | None:
        """How long no client has been attached; None while one is."""
        with self._lock:
            since = self._empty_since
        return None if since is None else time.monotonic() - since


# Builds the client of a connection that speaks another protocol after ``attach``.
AttachMode = Callable[[ClientInfo, Attach, SocketPipe], ModeClient]

# Builds a client from who it is, its channel, what its stopAll calls, and how it is notified.
AttachClient = Callable[[ClientInfo, Channel, Callable[[], None], SendLine], Client]


class EndpointServer:
    """Attaches every program that connects to the endpoint, each on a thread of its own."""

    def __init__(
        self,
        listener: LocalListener,
        clients: ClientTable,
        attach: AttachClient,
        modes: Mapping[str, AttachMode],
    ) -> None:
        self._listener = listener
        self._clients = clients
        self._attach = attach
        self._modes = modes
        self._slots = threading.BoundedSemaphore(MAX_CLIENTS)

    def run(self) -> None:
        """Accept until the listener is closed."""
        while pipe := self._listener.accept():
            if not self._slots.acquire(blocking=False):
                _refuse(pipe, f"the kernel has {MAX_CLIENTS} clients; close some of them")
                continue
            threading.Thread(target=self._serve, args=(pipe,), name="client", daemon=True).start()

    def _serve(self, pipe: SocketPipe) -> None:
        try:
            self._serve_client(pipe)
        except (OSError, KernelError) as error:
            logger.info("a client was not served: %s", error)
            _refuse(pipe, str(error))
        finally:
            pipe.close()
            self._slots.release()

    def _serve_client(self, pipe: SocketPipe) -> None:
        """Read ``attach``, and serve what follows it until the end."""
        channel = StreamChannel(pipe, MAX_UNREAD_BYTES)
        pipe.set_timeout(ATTACH_TIMEOUT_SECONDS)
        lines = channel.iter_lines()
        first = next(lines, None)
        if first is None:
            return
        if isinstance(first, OversizedLine):
            raise WrongParam("the first line must be attach")
        asked = decode_message(Attach, decode_envelope(first).message)
        pipe.set_timeout(None)
        info = ClientInfo(asked.client, asked.pid, asked.mirror)
        if asked.mode == LINES_MODE:
            self._serve_lines(info, channel, pipe, itertools.chain((first,), lines))
        elif attach_mode := self._modes.get(asked.mode):
            self._serve_mode(attach_mode(info, asked, pipe), lines)
        else:
            raise WrongParam(f"this kernel knows no mode {asked.mode!r}")

    def _serve_lines(
        self, info: ClientInfo, channel: StreamChannel, pipe: SocketPipe, lines: Iterator[Line]
    ) -> None:
        # Closing the reading half ends ``read_lines``; what is queued is still written.
        notify = partial(_notify, channel, pipe)
        client = self._attach(info, channel, pipe.close_reading, notify)
        channel.start(on_broken=lambda _: pipe.close_reading())
        try:
            client.read_lines(lines)
        finally:
            # Otherwise the kernel is stopping, and ends this client itself.
            if self._clients.remove(client):
                client.shut_down()
                pipe.finish_writing(FLUSH_TIMEOUT_SECONDS)
            else:
                client.ended.wait(CLIENT_END_TIMEOUT_SECONDS)

    def _serve_mode(self, client: ModeClient, lines: Iterator[Line]) -> None:
        self._clients.add(client)
        try:
            client.serve(lines)
        finally:
            if self._clients.remove(client):  # otherwise the kernel is stopping, and ends it
                client.shut_down()


def _notify(channel: StreamChannel, pipe: SocketPipe, line: bytes | SpooledLine) -> None:
    """Send a notification; a client that leaves too much unread is disconnected."""
    if not channel.send_or_drop(line):
        pipe.close()


def _refuse(pipe: SocketPipe, reason: str) -> None:
    """Tell a program why it is not attached."""
    line = build_request(MAIN_SESSION_ID, NO_CALLBACK_ID, KernelStopping(reason=reason))
    with suppress(OSError):
        pipe.set_timeout(1.0)
        pipe.write(encode_ascii_json(line) + b"\n")
    pipe.close()


def describe_status(
    info: KernelInfo,
    user_data: Path,
    started_at: float,
    clients: Sequence[AnyClient],
    sessions: Sequence[Session],
) -> KernelStatus:
    """Return what ``codekernel status`` shows."""
    import psutil  # noqa: PLC0415 - seldom needed

    by_repo = {session.repo.id: session for session in sessions}
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
        indexes=[_describe_index(session) for session in by_repo.values()],
    )


def _describe_index(session: Session) -> OpenIndexEntry:
    status = session.workspace.index.get_status() if session.is_prepared else None
    return OpenIndexEntry(
        repo_name=session.repo.name,
        path=str(session.repo.path),
        files=status.files if status else 0,
        chunks=status.chunks if status else 0,
        state=status.state if status else "opening",
    )


def _make_line_too_long_error(line: OversizedLine) -> WrongParam:
    return WrongParam(
        f"Invalid message format: a line of {line.length} bytes is longer than "
        f"the {MAX_LINE_BYTES} a message may have"
    )
