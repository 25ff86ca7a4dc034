"""An ACP agent as a child process: lines in and out, the end of its stderr, and its own end.

Its output is read as it comes, within limits: what is no message is skipped, and an agent that
sends a line or a turn of a size that no agent needs is ended. JSON-RPC messages are carried between
the thread that reads lines and the SDK on its event loop.
"""

import asyncio
import json
import logging
import os
import queue
import shutil
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from codekernel.agent.workspace.processes import build_environment, signal_group, terminate_group
from codekernel.domain.child_process import CHILD_PROCESS_OPTIONS, require_pipe
from codekernel.domain.settings import AgentCommand
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import KernelError
from codekernel.transport.lines import MAX_LINE_BYTES, Line, LineSplitter, OversizedLine

JsonMessage = dict[str, Any]

Result = TypeVar("Result")


class MessageTransport:
    """The ``Transport`` of the SDK; messages are taken one by one, so that a peer may have to wait.

    ``send`` must not block.
    """

    def __init__(
        self, messages: Iterator[JsonMessage], send: Callable[[JsonMessage], None], name: str
    ) -> None:
        """Begin to read, on a thread of this name. The event loop must be running."""
        self._messages = messages
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._received: asyncio.Queue[JsonMessage | None] = asyncio.Queue(maxsize=1)
        self._is_closed = False
        self._thread = threading.Thread(target=self._read, name=name, daemon=True)
        self._thread.start()

    async def send(self, message: JsonMessage) -> None:
        """Queue a message."""
        self._send(message)

    async def receive(self) -> JsonMessage | None:
        """Return the next message; None once the peer has ended."""
        return await self._received.get()

    async def close(self) -> None:
        """Drop what comes from now on; what is read is ended by its owner."""
        self._is_closed = True
        while not self._received.empty():
            self._received.get_nowait()

    def join(self, timeout_seconds: float) -> None:
        """Wait until nothing is read any more, so that the loop may end."""
        self._thread.join(timeout_seconds)

    def _read(self) -> None:
        with suppress(RuntimeError, CancelledError):  # the loop has ended
            for message in self._messages:
                self._put(message)
            self._put(None)

    def _put(self, message: JsonMessage | None) -> None:
        if not self._is_closed:
            run_on_loop(self._received.put(message), self._loop).result()


def run_on_loop(
    work: Coroutine[Any, Any, Result], loop: asyncio.AbstractEventLoop
) -> "Future[Result]":
    """Run a coroutine on the loop of another thread. Raises RuntimeError if that has ended."""
    try:
        return asyncio.run_coroutine_threadsafe(work, loop)
    except RuntimeError:
        work.close()
        raise


def format_message(message: JsonMessage) -> bytes:
    """Return a message as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def parse_message(line: bytes) -> JsonMessage | None:
    """Return the message of a line; None if it is none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


logger = logging.getLogger(__name__)

# npm's agents print a line or two beside the protocol; a thousand is another program.
MAX_GARBAGE_LINES = 1000

# Of the stderr of an agent, for its error.
MAX_ERROR_LINES, MAX_ERROR_CHARACTERS = 8, 600

_READ_BYTES = 64 * 1024

# For the exit code of an agent whose output has ended.
_EXIT_TIMEOUT_SECONDS = 2.0

# An agent that is told of its end by the end of its input can save its session.
_LEAVE_TIMEOUT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """What an agent may take, and how long it is waited for; tests shorten it."""

    # A first start by npx may download the agent.
    start_timeout_seconds: float = 180.0
    # An agent that goes on after it was told to stop is ended.
    cancel_timeout_seconds: float = 10.0
    # How often a growing message is sent again: often enough to be read as it comes.
    message_interval_seconds: float = 0.1
    # Updates that no thread has taken yet: the agent waits while there are more.
    max_pending_updates: int = 1000
    # Ten times the longest turn that anybody reads; then the agent is ended.
    max_turn_bytes: int = 64 * 1024 * 1024
    # Processes that wait for the next prompt; an agent of npm takes 200 MB. More are ended, and
    # started again when they are needed, if the agent can load its sessions.
    max_idle_agents: int = 3


DEFAULT_AGENT_LIMITS = AgentLimits()


class AgentProcess:
    """A running agent; ``failure`` says why it was ended by us."""

    def __init__(self, command: AgentCommand, folder: Path) -> None:
        """Start it in a folder. Raises KernelError that says what to do."""
        self.name = command.name
        self.failure = ""
        self._stderr_lines: deque[str] = deque(maxlen=MAX_ERROR_LINES)
        environment = {**build_environment(os.environ), **command.env}
        words = [find_program(command, environment), *command.args]
        try:
            self._process = subprocess.Popen(
                words,
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                **CHILD_PROCESS_OPTIONS,
            )
        except OSError as error:
            reason = error.strerror or str(error)
            raise KernelError(f"{command.name} cannot be started: {words[0]}: {reason}.") from error
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr_reader = self._start_thread(self._read_stderr, "stderr")
        self._start_thread(self._write_outbox, "write")
        self._start_thread(self._end_group, "wait")

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more."""
        return self._process.poll() is not None

    def send(self, message: JsonMessage) -> None:
        """Queue a message: an agent that does not read delays nobody."""
        self._outbox.put(format_message(message))

    def iter_messages(self) -> Iterator[tuple[JsonMessage, int]]:
        """Yield each message and its size until the agent ends, or has to be ended."""
        with require_pipe(self._process.stdout) as stdout:
            yield from self._parse_output(stdout.fileno())

    def fail(self, reason: str) -> None:
        """End an agent that does not behave."""
        if self.failure:
            return
        self.failure = reason
        logger.warning("the agent %s was ended: %s", self.name, reason)
        terminate_group(self._process)

    def end(self) -> None:
        """End it with everything that it started; it may leave by itself first."""
        self._outbox.put(None)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVE_TIMEOUT_SECONDS)
        terminate_group(self._process)

    def explain_end(self) -> str:
        """Return a sentence about how it ended, with the end of its stderr."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_EXIT_TIMEOUT_SECONDS)
        self._stderr_reader.join(_EXIT_TIMEOUT_SECONDS)
        code = self._process.returncode
        how = self.failure or (
            "its output has ended"
            if code is None
            else f"killed by signal {-code}"
            if code < 0
            else f"exit code {code}"
        )
        said = "\n".join(self._stderr_lines)[-MAX_ERROR_CHARACTERS:].strip()
        return f"{self.name} has ended ({how})" + (f": {said}" if said else ".")

    def _parse_output(self, descriptor: int) -> Iterator[tuple[JsonMessage, int]]:
        splitter, garbage, unfinished_bytes = LineSplitter(), 0, 0
        while chunk := _read_some(descriptor):
            is_continued = b"\n" not in chunk
            unfinished_bytes = len(chunk) + (unfinished_bytes if is_continued else 0)
            if unfinished_bytes > MAX_LINE_BYTES:  # perhaps one that never ends
                self.fail(f"it sent a line of more than {MAX_LINE_BYTES:,} bytes")
                return
            for line in splitter.feed(chunk):
                if isinstance(line, bytes) and (message := parse_message(line)) is not None:
                    yield message, len(line)
                    continue
                garbage += 1
                if garbage > MAX_GARBAGE_LINES:
                    self.fail(f"it printed {garbage:,} lines that are no messages of ACP")
                    return

    def _start_thread(self, target: Callable[[], None], purpose: str) -> threading.Thread:
        name = f"acp:{purpose}:{self.name}"
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        return thread

    def _end_group(self) -> None:
        """Once it has ended, end what it started: that may hold its output open."""
        self._process.wait()
        signal_group(self._process, gently=False)

    def _write_outbox(self) -> None:
        stdin = require_pipe(self._process.stdin)
        with suppress(OSError):  # it has ended, which its output tells
            while (line := self._outbox.get()) is not None:
                stdin.write(line)
                stdin.flush()
        with suppress(OSError):
            stdin.close()

    def _read_stderr(self) -> None:
        splitter = LineSplitter(_READ_BYTES)
        with require_pipe(self._process.stderr) as stderr:
            while chunk := _read_some(stderr.fileno()):
                self._keep_stderr(splitter.feed(chunk))
        self._keep_stderr(splitter.flush())

    def _keep_stderr(self, lines: Iterator[Line]) -> None:
        for line in lines:
            content = line.prefix if isinstance(line, OversizedLine) else line
            self._stderr_lines.append(escape_line(content.decode(errors="replace")))


def find_program(command: AgentCommand, environment: dict[str, str]) -> str:
    """Return the path of an agent's program. Raises KernelError if there is none."""
    path = environment.get("PATH")
    if found := shutil.which(os.path.expanduser(command.command), path=path):  # noqa: PTH111 - a name may have no folder
        return found
    raise KernelError(
        f"{command.name} cannot be started: there is no program {command.command!r} on this"
        " machine. Install it, or give its whole path in settings.json (agents.command)."
    )


def _read_some(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _READ_BYTES)
    except (OSError, ValueError):
        return b""
