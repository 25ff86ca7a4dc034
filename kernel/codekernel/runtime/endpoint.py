"""The programs that come by the local endpoint: each is attached on a thread of its own."""

import itertools
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Protocol

from codekernel.dispatch.notifications import SendLine
from codekernel.errors import KernelError, KernelRetired, Overloaded, WrongParam
from codekernel.protocol import MAIN_SESSION_ID, NO_CALLBACK_ID
from codekernel.protocol.envelope import (
    build_request,
    decode_envelope,
    decode_message,
    encode_ascii_json,
)
from codekernel.protocol.messages.kernel import Attach, KernelStopping
from codekernel.runtime.clients import (
    FLUSH_TIMEOUT_SECONDS,
    Client,
    ClientInfo,
    ClientTable,
    ModeClient,
)
from codekernel.runtime.retirement import (
    CONTROL_MODE,
    RETIRED_REASON,
    Retirement,
)
from codekernel.transport.lines import Channel, Line, OversizedLine, SpooledLine, StreamChannel
from codekernel.transport.local_endpoint import LocalPipe

logger = logging.getLogger(__name__)

# What a client's thread waits for if the kernel itself ends the client: all limits of clients.py.
CLIENT_END_TIMEOUT_SECONDS = 10.0

# The mode of clients that speak the lines of PROTOCOL.md.
LINES_MODE = "lines"

# Of those that speak the Model Context Protocol about one folder.
MCP_MODE = "mcp"

# Each takes four threads; beyond it, programs are started by mistake.
MAX_CLIENTS = 256

# Also those that are no clients yet, or only ask for the status or end the kernel.
MAX_CONNECTIONS = MAX_CLIENTS + 64

_TOO_MANY_CLIENTS = f"the kernel has {MAX_CLIENTS} clients; close some of them"

# A client sends ``attach`` at once; one that does not is not a client.
ATTACH_TIMEOUT_SECONDS = 10.0

# Replies wait for a client that reads slowly; one that leaves this much unread is disconnected by
# the next notification, for the index waits for nobody.
MAX_UNREAD_BYTES = 16 * 1024 * 1024

# Builds the client of a connection that speaks another protocol after ``attach``.
AttachMode = Callable[[ClientInfo, Attach, LocalPipe], ModeClient]

# Builds a client from who it is, its channel, what its stopAll calls, and how it is notified.
AttachClient = Callable[[ClientInfo, Channel, Callable[[], None], SendLine], Client]


class ClientListener(Protocol):
    """Where clients come from: LocalListener or InProcessListener."""

    def accept(self) -> LocalPipe | None:
        """Wait for the next connection; None once closed."""

    def close(self) -> None:
        """Accept no more."""


class EndpointServer:
    """Attaches every program that connects to the endpoint, each on a thread of its own."""

    def __init__(
        self,
        listener: ClientListener,
        clients: ClientTable,
        attach: AttachClient,
        modes: Mapping[str, AttachMode],
        retirement: Retirement,
    ) -> None:
        self._listener = listener
        self._clients = clients
        self._attach = attach
        self._modes = modes
        self._retirement = retirement
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._client_slots = threading.BoundedSemaphore(MAX_CLIENTS)

    def run(self) -> None:
        """Accept until the listener is closed."""
        while pipe := self._listener.accept():
            if not self._slots.acquire(blocking=False):
                _refuse(pipe, _TOO_MANY_CLIENTS)
                continue
            thread = threading.Thread(target=self._serve, args=(pipe,), name="client", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # the system has no thread left
                _refuse(pipe, str(error))
                self._slots.release()

    def _serve(self, pipe: LocalPipe) -> None:
        try:
            self._serve_client(pipe)
        except KernelRetired as error:
            _refuse(pipe, str(error), retired=True)
        except (OSError, KernelError) as error:
            logger.info("a client was not served: %s", error)
            _refuse(pipe, str(error))
        finally:
            pipe.close()
            self._slots.release()

    def _serve_client(self, pipe: LocalPipe) -> None:
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
        self._retirement.check_versions(asked)
        if asked.mode == CONTROL_MODE:
            self._serve_mode(asked, pipe, channel, first, lines)
            return
        if not self._client_slots.acquire(blocking=False):
            raise Overloaded(_TOO_MANY_CLIENTS)
        try:
            self._serve_mode(asked, pipe, channel, first, lines)
        finally:
            self._client_slots.release()

    def _serve_mode(
        self,
        asked: Attach,
        pipe: LocalPipe,
        channel: StreamChannel,
        first: bytes,
        lines: Iterator[Line],
    ) -> None:
        info = ClientInfo(
            asked.client, asked.pid, has_mirror=asked.mirror, reattaches=asked.reattaches
        )
        if asked.mode in {LINES_MODE, CONTROL_MODE}:
            self._serve_lines(info, channel, pipe, itertools.chain((first,), lines))
        elif attach_mode := self._modes.get(asked.mode):
            self._serve_other(attach_mode(info, asked, pipe), lines)
        else:
            raise WrongParam(f"this kernel knows no mode {asked.mode!r}")

    def _serve_lines(
        self, info: ClientInfo, channel: StreamChannel, pipe: LocalPipe, lines: Iterator[Line]
    ) -> None:
        # Closing the reading half ends ``read_lines``; what is queued is still written.
        notify = partial(_notify, channel, pipe)
        client = self._attach(info, channel, pipe.close_reading, notify)
        channel.start(on_broken=lambda _: pipe.close_reading())
        try:
            client.read_lines(lines)
        finally:
            with self._clients.remove(client) as is_removed:
                if is_removed:
                    client.shut_down(partial(_say_retired, client) if client.is_released else None)
                    pipe.finish_writing(FLUSH_TIMEOUT_SECONDS)
            if not is_removed:  # the kernel is stopping, and ends this client itself
                client.ended.wait(CLIENT_END_TIMEOUT_SECONDS)

    def _serve_other(self, client: ModeClient, lines: Iterator[Line]) -> None:
        self._clients.add(client)
        try:
            client.serve(lines)
        finally:
            with self._clients.remove(client) as is_removed:
                if is_removed:  # otherwise the kernel is stopping, and ends it
                    client.shut_down()


def _notify(channel: StreamChannel, pipe: LocalPipe, line: bytes | SpooledLine) -> None:
    """Send a notification; a client that leaves too much unread is disconnected."""
    if not channel.send_or_drop(line):
        pipe.close()


def _say_retired(client: Client) -> None:
    """Tell a client that it finds another kernel at the endpoint."""
    stopping = KernelStopping(reason=RETIRED_REASON, retired=True)
    client.announcer.send_unconfirmed(MAIN_SESSION_ID, stopping)


def _refuse(pipe: LocalPipe, reason: str, *, retired: bool = False) -> None:
    """Tell a program why it is not attached."""
    stopping = KernelStopping(reason=reason, retired=retired)
    line = build_request(MAIN_SESSION_ID, NO_CALLBACK_ID, stopping)
    with suppress(OSError):
        pipe.set_timeout(1.0)
        pipe.write(encode_ascii_json(line) + b"\n")
    pipe.close()
