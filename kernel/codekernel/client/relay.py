"""Carry lines between a program on stdin and stdout and the shared kernel.

To the program it looks like a kernel of its own: a kernel that dies is replaced, and what was open
or waiting goes on with the next one (relay_state.py for front ends, mcp_relay_state.py for MCP).
"""

import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

from codekernel import __version__
from codekernel.client.launcher import connect_to_kernel
from codekernel.client.relay_state import (
    ATTACH_ID,
    MAX_DEATHS,
    MAX_HEAD_BYTES,
    MAX_READ_REPLY_BYTES,
    RelayedLines,
)
from codekernel.errors import KernelError, KernelUnavailable
from codekernel.protocol import PROTOCOL_VERSION
from codekernel.transport.descriptors import StdioPipe
from codekernel.transport.lines import LineSplitter
from codekernel.transport.local_endpoint import LocalPipe

TYPE_CHECKING = False
if TYPE_CHECKING:  # 0.7 MB in every process that relays
    from pathlib import Path
    from typing import Protocol
else:
    Protocol = object

READ_CHUNK_BYTES = 64 * 1024

# Connects to the kernel of a userData folder. Raises KernelError.
Connect = Callable[["str | Path"], LocalPipe]

# After MAX_DEATHS in so short a time without an answer, the next kernel would die, too.
DEATHS_INTERVAL_SECONDS = 60.0


class ConnectionState(Protocol):
    """What is remembered of a program, so that another kernel can go on."""

    is_stopping: bool
    # Why a kernel does not serve the program, and the next one would not either.
    refusal: str
    # How many replies have arrived whole.
    answered_count: int
    # Whether another kernel must answer something before it gets lines of the program.
    is_holding: bool

    def note_request(self, line: bytes) -> None:
        """Remember a line of the program."""

    def classify_head(self, head: bytes) -> tuple[bool, bool]:
        """Return whether a line of the kernel is forwarded, and whether it is read whole."""

    def note_line(self, line: bytes) -> RelayedLines:
        """Remember a line of the kernel; return what follows from it."""

    def note_end(self) -> None:
        """Remember that a line of the kernel has arrived whole."""

    def restart(self) -> tuple[list[bytes], list[bytes]]:
        """Return the lines for a new kernel, and those for the program, after a death."""

    def release_held(self) -> list[bytes]:
        """Return the lines for the kernel that were held back."""

    def describe_end(self, error: str) -> bytes:
        """Return the last line for the program if no other kernel can be had."""


class KernelLink:
    """A program's connection to the kernel, whichever process that is at the moment.

    ``attach_line`` is sent first to each kernel, ``connect`` finds it. One thread sends, another
    one iterates.
    """

    def __init__(
        self,
        user_data: "str | Path",
        state: ConnectionState,
        attach_line: bytes,
        connect: Connect = connect_to_kernel,
    ) -> None:
        """Attach to the kernel. Raises KernelError."""
        self._kernel = connect(user_data)
        self._user_data = user_data
        self._connect = connect
        self._state = state
        self._attach_line = attach_line
        self._splitter = LineSplitter()
        self._state_lock = threading.Lock()
        # Held while something is written to the kernel, and while it is replaced.
        self._write_lock = threading.Lock()
        self._unfinished = b""  # the last line of the program, as far as it has arrived
        self._deaths: deque[float] = deque(maxlen=MAX_DEATHS)
        self._answered_count = 0  # at the last death
        self._is_holding = False  # whether the kernel gets no lines of the program yet
        self.is_lost = False  # whether no other kernel could be had
        self.replaced_count = 0  # kernels that died or left; of the thread that iterates
        self._write_to_kernel(attach_line)

    def send(self, chunk: bytes) -> None:
        """Send a piece of the program's lines."""
        with self._write_lock:
            with self._state_lock:
                for line in self._splitter.feed(chunk):
                    if isinstance(line, bytes):
                        self._state.note_request(line)
            _, newline, rest = chunk.rpartition(b"\n")
            self._unfinished = rest if newline else self._unfinished + chunk
            if not self._is_holding:
                self._write_to_kernel(chunk)

    def end_input(self) -> None:
        """Let the kernel end this client in order; callable from a signal handler."""
        self._state.is_stopping = True
        self._kernel.end_writing()

    def close(self) -> None:
        """Disconnect: there is nobody left to read."""
        self._state.is_stopping = True
        self._kernel.close()

    def iterate_output(self) -> Iterator[bytes]:
        """Yield pieces of the lines for the program, until it has stopped or all is lost."""
        while True:
            yield from self._iterate_one_kernel()
            if self._state.is_stopping:
                return
            yield b"".join(line + b"\n" for line in self._replace_kernel())
            if self.is_lost:
                return

    def _write_to_kernel(self, content: bytes) -> None:
        try:
            self._kernel.write(content)
        except OSError:
            return  # the other thread sees the end and sends again what was not answered

    def _iterate_one_kernel(self) -> Iterator[bytes]:
        tap = _LineTap(self._state, self._state_lock)
        while chunk := self._read_from_kernel():
            pieces = b"".join(tap.feed(chunk))
            if pieces:
                yield pieces
            for answer in tap.take_answers():
                with self._write_lock:
                    self._write_to_kernel(answer + b"\n")
            if self._is_holding and not self._state.is_holding:
                self._release_held()
        if tap.is_line_torn:  # the program reads the next line as one of its own
            yield b"\n"

    def _release_held(self) -> None:
        with self._write_lock:
            with self._state_lock:
                held = self._state.release_held()
            self._is_holding = False
            self._write_to_kernel(b"".join(line + b"\n" for line in held) + self._unfinished)

    def _read_from_kernel(self) -> bytes:
        try:
            return self._kernel.read(READ_CHUNK_BYTES)
        except OSError:
            return b""

    def _replace_kernel(self) -> list[bytes]:
        """Attach to another kernel and go on; return the lines for the program."""
        self._kernel.close()
        self.replaced_count += 1
        with self._write_lock:
            try:
                self._kernel = self._connect_again()
            except KernelError as error:
                self.is_lost = True
                return [self._state.describe_end(str(error))]
            with self._state_lock:
                to_kernel, to_program = self._state.restart()
            lines = b"".join(line + b"\n" for line in to_kernel)
            self._is_holding = self._state.is_holding
            unfinished = b"" if self._is_holding else self._unfinished
            self._write_to_kernel(self._attach_line + lines + unfinished)
        if self._state.is_stopping:  # since then, when there was no kernel to tell
            self._kernel.end_writing()
        return to_program

    def _connect_again(self) -> LocalPipe:
        if self._state.refusal:
            raise KernelUnavailable(self._state.refusal)
        now = time.monotonic()
        if self._state.answered_count != self._answered_count:
            self._deaths.clear()  # it worked: whatever killed it is something else
            self._answered_count = self._state.answered_count
        is_full = len(self._deaths) == MAX_DEATHS
        if is_full and now - self._deaths[0] < DEATHS_INTERVAL_SECONDS:
            raise KernelUnavailable("the kernel ended too often; its log says why")
        self._deaths.append(now)
        return self._connect(self._user_data)


def relay_stdio(program: StdioPipe, link: KernelLink) -> int:
    """Carry lines between stdin and stdout and the kernel; return the exit code."""

    def read_program() -> None:
        while chunk := program.read(READ_CHUNK_BYTES):
            link.send(chunk)
        link.end_input()

    threading.Thread(target=read_program, name="stdin", daemon=True).start()
    for pieces in link.iterate_output():
        try:
            program.write(pieces)
        except OSError:  # the program is gone
            link.close()
            return 1
    return 1 if link.is_lost else 0


class _LineTap:
    """Decides for each line of the kernel whether it is forwarded, and reads some of them whole."""

    def __init__(self, state: ConnectionState, lock: threading.Lock) -> None:
        self._state = state
        self._lock = lock
        self._head = b""
        self._kept: list[bytes] = []
        self._kept_bytes = 0
        self._is_decided = self._is_forwarded = self._is_kept = False
        self._answers: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what is forwarded of this chunk."""
        for piece in _split_lines(chunk):
            is_end = piece.endswith(b"\n")
            part = self._head + piece
            if not self._is_decided:
                if not is_end and len(part) < MAX_HEAD_BYTES:
                    self._head = part
                    continue
                self._head = b""
                with self._lock:
                    self._is_forwarded, self._is_kept = self._state.classify_head(
                        part[:MAX_HEAD_BYTES]
                    )
                self._is_decided = True
            if self._is_forwarded:
                yield part
            if self._is_kept:
                self._keep(part)
            if is_end:
                yield from self._finish_line()

    @property
    def is_line_torn(self) -> bool:
        """Whether the beginning of a line was forwarded, and not its end."""
        return self._is_decided and self._is_forwarded

    def take_answers(self) -> list[bytes]:
        """Return what must be answered to the kernel, once."""
        answers, self._answers = self._answers, []
        return answers

    def _keep(self, part: bytes) -> None:
        self._kept.append(part)
        self._kept_bytes += len(part)
        if self._kept_bytes > MAX_READ_REPLY_BYTES:
            self._is_kept = False
            self._kept.clear()

    def _finish_line(self) -> Iterator[bytes]:
        with self._lock:
            added = self._state.note_line(b"".join(self._kept)) if self._is_kept else RelayedLines()
            self._state.note_end()
        self._answers += added.to_kernel
        self._kept, self._kept_bytes = [], 0
        self._is_decided = False
        yield from (line + b"\n" for line in added.to_program)


def _split_lines(chunk: bytes) -> list[bytes]:
    """Return the lines with their ends, and the rest."""
    *lines, rest = chunk.split(b"\n")
    parts = [line + b"\n" for line in lines]
    return [*parts, rest] if rest else parts


def make_attach_line(client: str, **fields: str | bool) -> bytes:
    """Return the first line of a client; ``fields`` are further ones of the message."""
    envelope = {
        "sessionId": -1,
        "toMain": True,
        "callbackId": ATTACH_ID,
        "isReply": False,
        "message": {
            "type": "attach",
            "protocolVersion": PROTOCOL_VERSION,
            "client": client,
            "pid": os.getpid(),
            "clientVersion": __version__,
            "reattaches": True,
            **fields,
        },
    }
    return json.dumps(envelope).encode() + b"\n"
