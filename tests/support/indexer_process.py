"""A repository that a child process indexes while a test edits it and kills the child."""

import hashlib
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
TIMEOUT_SECONDS = 90
SHORT_TIMEOUT_SECONDS = 1.0
SUFFIXES = (".py", ".py", ".js", ".md", ".json")
WORDS = ("invoice", "refund", "login", "parse", "render", "cache", "matrix", "socket", "weather")


class IndexerProcess:
    """The child process; all lines that it prints are kept."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        lengths: str,
        before_exec: Callable[[], None] | None = None,
    ) -> None:
        self.lines: list[list[str]] = []
        self._changed = threading.Condition()
        self._ended = False
        self._child = subprocess.Popen(
            [sys.executable, str(ROOT / "tests/support/indexer_child.py"), root, folder, lengths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PYTHONPATH": str(ROOT / "tests")},
            text=True,
            preexec_fn=before_exec,  # noqa: PLW1509 - given by tests that have no threads yet
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._child.pid

    def send(self, line: str) -> None:
        assert self._child.stdin
        self._child.stdin.write(f"{line}\n")
        self._child.stdin.flush()

    def wait_for_line(self, word: str, count: int = 1) -> bool:
        """Wait for so many lines that begin with ``word``; false if it is idle before."""
        with self._changed:
            reached = self._changed.wait_for(
                lambda: (
                    self._count_lines(word) >= count or self._count_lines("settled") or self._ended
                ),
                TIMEOUT_SECONDS,
            )
        if not reached or self._ended:
            self._end()
            raise AssertionError(f"never {word}, exit code {self._child.poll()}; {self.lines[-3:]}")
        return self._count_lines(word) >= count

    def wait_briefly_for_line(self, word: str) -> bool:
        """Return whether a line that begins with ``word`` comes within a second."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._count_lines(word) > 0, SHORT_TIMEOUT_SECONDS
            )

    def kill(self, after_seconds: float = 0.0) -> None:
        """Let it work a moment longer, then kill it and read the rest of its lines."""
        try:
            self._child.wait(after_seconds)
        except subprocess.TimeoutExpired:
            self._child.kill()
        else:
            self._end()
            raise AssertionError(f"ended by itself with {self._child.returncode}")
        self._end()

    def list_reported(self, status: str = "") -> set[str]:
        """Return the files of which it reported this status, or any."""
        words = {status} if status else {"embedding", "done"}
        return {line[1] for line in self.lines if line[0] in words}

    def _end(self) -> None:
        self._child.kill()
        self._child.wait()
        self._reader.join()
        for pipe in (self._child.stdout, self._child.stdin):
            assert pipe
            with suppress(BrokenPipeError):  # lines it had not read
                pipe.close()

    def _count_lines(self, word: str) -> int:
        return sum(line[0] == word for line in self.lines)

    def _read(self) -> None:
        assert self._child.stdout
        for line in self._child.stdout:
            if line.endswith("\n"):  # the last may have been cut short
                with self._changed:
                    self.lines.append(line.rstrip("\n").split("\t"))
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


def index_until_idle(root: Path, folder: Path, lengths: str) -> IndexerProcess:
    """Let a child bring an index up to date, then kill it."""
    follower = IndexerProcess(root, folder, lengths)
    follower.send("settle")
    follower.wait_for_line("settled")
    follower.kill()
    return follower


class RandomEditor:
    """Edits the repository at random; every call returns the paths it changed."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root = root
        self._chance = chance
        self._number = 0

    def begin(self, files: int) -> None:
        for _ in range(files):
            self.create()

    def paths(self) -> list[str]:
        found = (file for file in self.root.rglob("*") if file.is_file())
        return sorted(file.relative_to(self.root).as_posix() for file in found)

    def edit_something(self) -> set[str]:
        deeds: tuple[Callable[[], set[str]], ...]
        deeds = (self.create, self.change, self.change, self.rename, self.delete, self.move_folder)
        return self._chance.choice(deeds)()

    def create(self) -> set[str]:
        self._number += 1
        folder = self._chance.choice(("", "a/", "b/", "b/c/"))
        path = f"{folder}file{self._number}{self._chance.choice(SUFFIXES)}"
        self._write(path, self._text())
        return {path}

    def change(self) -> set[str]:
        path = self._any()
        self._write(path, (self.root / path).read_text(encoding="utf-8") + self._text())
        return {path}

    def rename(self) -> set[str]:
        path = self._any()
        self._number += 1
        other = f"a/renamed{self._number}{Path(path).suffix}"
        (self.root / other).parent.mkdir(exist_ok=True)
        (self.root / path).rename(self.root / other)
        return {path, other}

    def delete(self) -> set[str]:
        path = self._any()
        (self.root / path).unlink()
        return {path} | self.create()  # so that the repository does not dwindle away

    def move_folder(self) -> set[str]:
        before = set(self.paths())
        old, new = ("b", "d") if (self.root / "b").exists() else ("d", "b")
        if (self.root / old).exists() and not (self.root / new).exists():
            (self.root / old).rename(self.root / new)
        return before ^ set(self.paths())

    def digest(self, path: str) -> bytes | None:
        """What the catalogue should know of a path."""
        file = self.root / path
        if not file.exists():
            return None
        return hashlib.blake2b(file.read_bytes(), digest_size=16).digest()

    def _any(self) -> str:
        return self._chance.choice(self.paths())

    def _write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def _text(self) -> str:
        """Return two small functions with new names."""
        number = self._chance.randrange(10**9)
        words = self._chance.sample(WORDS, 4)
        return "".join(
            f"\ndef {first}_{second}_{number}(value):\n    # {' '.join(words)}\n"
            f"    return {second}(value, {number}) + '{first}'\n"
            for first, second in (words[:2], words[2:])
        )
