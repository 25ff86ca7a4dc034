"""Interactive programs of an agent session.

Started in a pseudo-terminal, written to, read and closed; their output is kept in a bounded
buffer.
"""

import codecs
import re
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path

from codekernel.agent.tool_policy import ToolError
from codekernel.agent.workspace.processes import (
    TerminalConnection,
    build_shell_command,
    terminate_group,
)

_BLOCK_BYTES = 65_536

# What moves the cursor, colours text or sets a title; a model reads none of it.
_ESCAPE_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?"
    r"|\x1b[PX^_][^\x1b]{0,4096}\x1b\\"
    r"|\x1b[ -/]*[0-~]"
)


class TerminalOutput:
    """Output of a program: written by the thread that reads it, taken by tool calls."""

    def __init__(self, max_characters: int) -> None:
        self._max_characters = max_characters
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._changed = threading.Condition()
        self._parts: list[str] = []
        self._length = 0
        self._dropped = 0
        self._has_ended = False

    def read_from(self, read: Callable[[int], bytes], throttle_seconds: float) -> None:
        """Append what ``read`` returns up to its end, slowly while the buffer is full."""
        while data := read(_BLOCK_BYTES):
            self.write(data)
            if self._length >= self._max_characters:
                time.sleep(throttle_seconds)
        self.end()

    def write(self, data: bytes) -> None:
        """Append output of the program."""
        text = self._decoder.decode(data)
        with self._changed:
            self._parts.append(text)
            self._length += len(text)
            if self._length > 2 * self._max_characters:
                self._drop_oldest()
            self._changed.notify_all()

    def end(self) -> None:
        """Mark the end of the output."""
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def wait_for_end(self, seconds: float) -> bool:
        """Wait for the end of the output; return whether it came in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._has_ended, seconds)

    def wait_for_quiet(self, seconds: float, quiet_seconds: float) -> None:
        """Wait for output followed by a pause, or for the timeout."""
        deadline = time.monotonic() + seconds
        with self._changed:
            self._changed.wait_for(lambda: self._length or self._has_ended, seconds)
            while not self._has_ended and time.monotonic() < deadline:
                before = self._length + self._dropped
                left = min(quiet_seconds, max(0.0, deadline - time.monotonic()))
                said_more = self._changed.wait_for(
                    lambda so_far=before: self._length + self._dropped != so_far or self._has_ended,  # type: ignore[misc]
                    left,
                )
                if not said_more:
                    return

    def take(self) -> str:
        """Return the output since the last call, or its end after a note on what was dropped.

        As plain text, without escapes and with plain line ends.
        """
        with self._changed:
            self._drop_oldest()
            text, dropped = "".join(self._parts), self._dropped
            self._parts, self._length, self._dropped = [], 0, 0
        text = strip_escapes(text)
        return f"[... {dropped:,} earlier characters dropped ...]\n{text}" if dropped else text

    def _drop_oldest(self) -> None:
        text = "".join(self._parts)
        over = len(text) - self._max_characters
        if over > 0:
            text = text[over:]
            self._dropped += over
        self._parts, self._length = [text], len(text)


def strip_escapes(text: str) -> str:
    """Return terminal output as plain text, without escapes and with plain line ends."""
    return _ESCAPE_SEQUENCES.sub("", text).replace("\r\n", "\n").replace("\x07", "")


# A program that floods is read slowly: 13 MB a second at the most, a few percent of one core.
_FLOOD_THROTTLE_SECONDS = 0.005

_CLOSE_TIMEOUT_SECONDS = 5.0


class Terminal:
    """One program in its terminal; a thread reads its output."""

    def __init__(self, command: str, folder: Path, max_characters: int) -> None:
        self.id = secrets.token_hex(4)
        self.command = command
        self.output = TerminalOutput(max_characters)
        self.last_used = self._started = time.monotonic()
        self._connection = TerminalConnection(build_shell_command(command), folder)
        reading = (self._connection.read, _FLOOD_THROTTLE_SECONDS)
        self._reader = threading.Thread(
            target=self.output.read_from, args=reading, name=f"terminal:{self.id}", daemon=True
        )
        self._reader.start()

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while the program runs."""
        return self._connection.process.poll()

    def describe(self) -> str:
        """Return one line for a list."""
        now, code = time.monotonic(), self.exit_code
        state = "alive" if code is None else f"ended with {code}"
        age, idle = int(now - self._started), int(now - self.last_used)
        return f"{self.id}: {state}, age={age}s, idle={idle}s, {self.command}"

    def send(self, text: str, seconds: float) -> None:
        """Type text. Raises ToolError if the program has ended or does not read."""
        if self.exit_code is not None:
            raise ToolError(
                f"The program in session {self.id} has ended with {self.exit_code}."
                " Read its last output, then close the session."
            )
        if not self._connection.write(text.encode(errors="replace"), seconds):
            raise ToolError(
                f"The program in session {self.id} does not read its input: not all was sent."
            )

    def close(self) -> None:
        """Terminate the program with its group and read its last output."""
        terminate_group(self._connection.process)
        self._connection.hang_up()
        self._reader.join(_CLOSE_TIMEOUT_SECONDS)
        self._connection.close()


class TerminalPool:
    """The terminals of one agent session; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, Terminal] = {}

    def start(
        self, command: str, folder: Path, max_characters: int, max_terminals: int
    ) -> Terminal:
        """Start a program. Raises OSError, and ToolError if ``max_terminals`` are open."""
        with self._lock:
            if len(self._open) >= max_terminals:
                raise ToolError(
                    f"{max_terminals} sessions are open, which is all there can be: close one."
                )
            terminal = Terminal(command, folder, max_characters)
            self._open[terminal.id] = terminal
        return terminal

    def __getitem__(self, session_id: str) -> Terminal:
        with self._lock:
            terminal = self._open.get(session_id)
        if terminal is None:
            raise ToolError(f"Session {session_id} not found: list_sessions says which there are.")
        terminal.last_used = time.monotonic()
        return terminal

    def list_open(self) -> list[Terminal]:
        """Return the open terminals, whether or not their programs still run."""
        with self._lock:
            return list(self._open.values())

    def close(self, session_id: str) -> Terminal:
        """Close one terminal."""
        terminal = self[session_id]
        with self._lock:
            self._open.pop(session_id, None)
        terminal.close()
        return terminal

    def close_all(self) -> None:
        """Close every terminal."""
        for terminal in self.list_open():
            self.close(terminal.id)
