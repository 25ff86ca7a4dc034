"""Programs that an agent talks to: started, written to, read, ended, in pseudo-terminals."""

import secrets
import threading
import time
from pathlib import Path

from kernel.agent.failing import ToolFailed
from kernel.agent.processes import end_group, shell_words
from kernel.agent.pseudo_terminal import Connection, connect
from kernel.agent.terminal_output import TerminalOutput

_BLOCK_BYTES = 65_536
# A program that floods is read slowly: 13 MB a second at the most, a few percent of one core.
_PAUSE_WHEN_FULL_SECONDS = 0.005
_END_SECONDS = 5.0


class Terminal:
    """One program in its terminal; a thread reads all it says."""

    def __init__(self, command: str, folder: Path, most_characters: int) -> None:
        self.id = secrets.token_hex(4)
        self.command = command
        self.output = TerminalOutput(most_characters)
        self._started = self._used = time.monotonic()
        self._connection: Connection = connect(shell_words(command), folder)
        self._reader = threading.Thread(target=self._read, name=f"terminal:{self.id}", daemon=True)
        self._reader.start()

    @property
    def exit_code(self) -> int | None:
        """How the program ended; None while it runs."""
        return self._connection.process.poll()

    def described(self) -> str:
        """One line for a list."""
        now = time.monotonic()
        code = self.exit_code
        state = "alive" if code is None else f"ended with {code}"
        age, idle = int(now - self._started), int(now - self._used)
        return f"{self.id}: {state}, age={age}s, idle={idle}s, {self.command}"

    def use(self) -> None:
        """Note that somebody is interested."""
        self._used = time.monotonic()

    def send(self, text: str, seconds: float) -> None:
        """Type something; ToolFailed if the program has ended or does not read."""
        if self.exit_code is not None:
            raise ToolFailed(
                f"The program in session {self.id} has ended with {self.exit_code}."
                " Read its last output, then close the session."
            )
        if not self._connection.write(text.encode(errors="replace"), seconds):
            raise ToolFailed(
                f"The program in session {self.id} does not read its input: not all was sent."
            )

    def close(self) -> None:
        """End the program with its group and take what it said last."""
        end_group(self._connection.process)
        self._connection.hang_up()
        self._reader.join(_END_SECONDS)
        self._connection.close()

    def _read(self) -> None:
        while data := self._connection.read(_BLOCK_BYTES):
            self.output.write(data)
            if self.output.is_full:
                time.sleep(_PAUSE_WHEN_FULL_SECONDS)
        self.output.end()


class Terminals:
    """The terminals of one agent session; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, Terminal] = {}

    def start(self, command: str, folder: Path, characters: int, most: int) -> Terminal:
        """Start a program; ToolFailed if ``most`` are open already. Raises OSError."""
        with self._lock:
            if len(self._open) >= most:
                raise ToolFailed(f"{most} sessions are open, which is all there can be: close one.")
            terminal = Terminal(command, folder, characters)
            self._open[terminal.id] = terminal
        return terminal

    def __getitem__(self, session_id: str) -> Terminal:
        with self._lock:
            terminal = self._open.get(session_id)
        if terminal is None:
            raise ToolFailed(f"Session {session_id} not found: list_sessions says which there are.")
        terminal.use()
        return terminal

    def all(self) -> list[Terminal]:
        """Every open terminal, whether or not its program still runs."""
        with self._lock:
            return list(self._open.values())

    def close(self, session_id: str) -> Terminal:
        """End one and forget it."""
        terminal = self[session_id]
        with self._lock:
            self._open.pop(session_id, None)
        terminal.close()
        return terminal

    def close_all(self) -> None:
        """End every program."""
        for terminal in self.all():
            self.close(terminal.id)
