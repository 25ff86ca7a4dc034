"""Real commands of codekernel under strace, in an environment that hides nothing.

Each has a folder of its own with ``home``, ``userData`` and ``repository``. No variable of a CI
machine is set: onnxruntime reads thirteen of them and keeps quiet. The umask is that of somebody
who shares everything. Usable without pytest, so that the campaign ``network`` runs them too.
"""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from support.chat_server import ChatServer, reply_calls, reply_text
from support.conversation_client import chat_settings, write_sources
from support.index_client import IndexClient
from support.kernel_process import KernelProcess, code_of
from support.polling import pause, wait_until
from support.system_trace import SystemTrace, read_trace, traced

ROOT = Path(__file__).parents[2]
PYTHON = (sys.executable, "-m", "codekernel")
TIMEOUT_SECONDS = 90.0
# onnxruntime asks for its host's address 4 to 12 seconds after the import.
LOOKUP_SECONDS = 14.0
POLL_SECONDS = 0.1
SESSION = 7
VECTOR_FILES = "index/*/vectors/*/rows.lance/data/*.lance"
QUERY = "end the session and refuse waiting requests"
# Almost copies, because equal texts are embedded once.
COPIED = ROOT / "kernel" / "codekernel" / "app" / "kernel.py"
# So many bytes that other processes cut the files, and so many that they look for calls in them.
MIN_BYTES_TO_CUT, MIN_BYTES_OF_CALLS = 1_000_000, 400_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where one command runs; ``more`` is added to its environment."""

    folder: Path
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """The home folder, empty before."""
        return self.folder / "home"

    @property
    def user_data(self) -> Path:
        """The folder that the kernel may write to."""
        return self.folder / "userData"

    @property
    def repository(self) -> Path:
        """The code that is searched."""
        return self.folder / "repository"

    @property
    def log(self) -> Path:
        """What strace wrote."""
        return self.folder / "strace.log"

    def make(self) -> None:
        """Make the folders and two files to be found; userData is the command's to make."""
        self.folder.mkdir()
        for folder in (self.home, self.repository):
            folder.mkdir()
        write_sources(self.repository)

    def fill(self, size: int) -> None:
        """Add so many bytes of code that the kernel starts processes to help it."""
        source = COPIED.read_text(encoding="utf-8")
        for number in range(size // len(source) + 1):
            text = f"# copy {number}\n{source}"
            (self.repository / f"copy_{number}.py").write_text(text, encoding="utf-8")

    def environ(self) -> dict[str, str]:
        """A person's environment, as small as it can be."""
        return {
            "PATH": os.defpath,
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.home),
            "PYTHONPATH": str(ROOT),
            "CODEKERNEL_USER_DATA": str(self.user_data),
            "ORT_DISABLE_TELEMETRY": "0",  # whatever the environment says
            **self.more,
        }

    def start(self, *words: str, stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
        """Start a command under strace."""
        return subprocess.Popen(
            traced([*PYTHON, *words], self.log),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environ(),
            cwd=self.repository,
            umask=0,
        )

    def run(self, *words: str) -> str:
        """Run a command to its end; what it printed."""
        with self.start(*words) as process:
            out, err = process.communicate(timeout=TIMEOUT_SECONDS)
        assert process.returncode == 0, (out, err)
        return out.decode()


def serve(place: Place) -> None:
    """A front end with a kernel of its own opens a repository, waits for its index and searches."""
    place.fill(MIN_BYTES_TO_CUT)
    place.user_data.mkdir()
    _use_as_front_end(place, place.environ())


def attach(place: Place) -> None:
    """A front end does the same with the kernel that all programs share, which it starts."""
    let_kernel_leave_at_once(place)
    _use_as_front_end(place, {**place.environ(), "CODEKERNEL_STANDALONE": ""})
    wait_for_kernel_end(place)


def _use_as_front_end(place: Place, environ: Mapping[str, str]) -> None:
    command = ["/bin/sh", "-c", 'umask 0; exec "$@"', "sh", *traced([*PYTHON, "serve"], place.log)]
    with KernelProcess(place.user_data, command=command, environ=environ) as kernel:
        kernel.open(place.repository, SESSION)
        window = IndexClient(kernel, SESSION)
        window.wait_until_idle()
        found = window.request("search", query=QUERY, accuracy=True)
        assert code_of(found) == "SUCCESS", found
        assert any(hit["filePath"] == "session.py" for hit in found["data"]["results"]), found
        _stay()
        assert kernel.stop() == 0, kernel.stderr


def search(place: Place) -> None:
    """A person searches in a terminal, which starts a kernel that leaves at once."""
    let_kernel_leave_at_once(place)
    assert "session.py" in place.run("search", "--files", *QUERY.split())
    wait_for_kernel_end(place)
    _stay()


def ask(place: Place) -> None:
    """A person asks a chat model on loopback."""
    place.user_data.mkdir()
    with ChatServer([reply_text("It is closed in `session.py:4-6`.", used=(9, 2))]) as server:
        _write_settings(place, server.url, vectors=True)
        assert "session.py:4-6" in place.run("ask", *QUERY.split())
        wait_for_kernel_end(place)


def agent(place: Place) -> None:
    """A person lets a model on loopback make a file and run a command."""
    place.user_data.mkdir()
    made = ("create_file", {"path": "new/made.py", "content": "made = True\n"})
    ran = ("run_command", {"command": "cp made.py copied.py", "cwd": "new"})
    script = [
        reply_calls(("plan", {"action": "skip"})),
        reply_calls(made),
        reply_calls(ran),
        reply_text("Done."),
    ]
    with ChatServer(script) as server:
        _write_settings(place, server.url)
        place.run("agent", "--allow", "runs", "make a file")
        wait_for_kernel_end(place)
    for name in ("made.py", "copied.py"):  # what is private in userData is nobody's wish here
        assert stat.S_IMODE((place.repository / "new" / name).stat().st_mode) == 0o666, name


def mcp(place: Place) -> None:
    """A coding agent searches over stdin and stdout, and asks who calls what."""
    place.fill(MIN_BYTES_OF_CALLS)
    let_kernel_leave_at_once(place)
    with place.start("mcp", stdin=subprocess.PIPE) as process:
        _say(process, 1, "initialize", protocolVersion="2025-06-18", capabilities={},
             clientInfo={"name": "trace", "version": "1"})  # fmt: skip
        _say(process, None, "notifications/initialized")
        _say(process, 2, "tools/call", name="index_status", arguments={"wait": True})
        found = _say(process, 3, "tools/call", name="search", arguments={"query": QUERY})
        assert "session.py" in json.dumps(found), found
        chain = _say(process, 4, "tools/call", name="call_chain", arguments={"method": "add_route"})
        assert "routing.py" in json.dumps(chain), chain
        _stay()
        assert process.stdin
        process.stdin.close()
        assert process.wait(TIMEOUT_SECONDS) == 0
    wait_for_kernel_end(place)


def web(place: Place) -> None:
    """A browser fetches the first page of ``codekernel web``, which indexes the folder."""
    let_kernel_leave_at_once(place)
    with place.start("web", "--no-browser") as process:
        assert process.stdout
        address = process.stdout.readline().decode().removeprefix("Open ").strip()
        host, _, path = address.removeprefix("http://").partition("/")
        connection = HTTPConnection(host, timeout=TIMEOUT_SECONDS)
        connection.request("GET", f"/{path}")
        assert connection.getresponse().status == 200, address
        connection.close()
        _wait_for_line(process, "is being indexed")
        _wait_for_vectors(place)
        _stay()
        process.terminate()
        assert process.wait(TIMEOUT_SECONDS) == 0
    wait_for_kernel_end(place)


RUNS: Mapping[str, Callable[[Place], None]] = {
    "serve": serve, "attach": attach, "web": web, "mcp": mcp, "search": search, "ask": ask,
    "agent": agent,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TracedRun:
    """One command that has ended, and what it asked of the system."""

    name: str
    place: Place
    trace: SystemTrace

    def faults(self) -> list[str]:
        """Each thing that left the machine, or its own folders, in one line."""
        trace, place = self.trace, self.place
        return [
            *(f"{self.name}: name lookup by {one}" for one in sorted(set(trace.lookups))),
            *(f"{self.name}: connection to {one}" for one in sorted(set(trace.outside()))),
            *(
                f"{self.name}: local socket {one}"
                for one in sorted(set(trace.sockets))
                if one != str(place.user_data / "run" / "kernel.sock")  # our own kernel
            ),
            *(
                f"{self.name}: {one.program} wrote {one.path} ({one.system_call})"
                for one in trace.written_outside(place.user_data, place.repository)
            ),
            *(f"{self.name}: left in the home folder: {one}" for one in _left_in(place.home)),
            *(f"{self.name}: open to others: {one}" for one in _open_to_others(place.user_data)),
        ]


def run_traced(folder: Path, more: Mapping[str, str] | None = None) -> list[TracedRun]:
    """Run all commands at once, each in a folder of its own below ``folder``."""

    def run(name: str) -> TracedRun:
        place = Place(folder / name, more or {})
        place.make()
        RUNS[name](place)
        return TracedRun(name, place, read_trace(place.log, place.repository))

    with ThreadPoolExecutor(len(RUNS)) as beside:
        return list(beside.map(run, RUNS))


def _write_settings(place: Place, url: str, *, vectors: bool = False) -> None:
    """Write a person's settings, by which a shared kernel also ends with its last client."""
    chat_settings(place.user_data, url, vectors=vectors)
    file = place.user_data / "settings.json"
    settings = json.loads(file.read_bytes())
    file.write_text(json.dumps(settings | {"kernel": {"idleMinutes": 0}}), encoding="utf-8")
    file.chmod(0o600)


def let_kernel_leave_at_once(place: Place) -> None:
    """Make userData with settings by which a shared kernel ends with its last client."""
    place.user_data.mkdir(mode=0o700)
    settings = place.user_data / "settings.json"
    settings.write_text('{"kernel": {"idleMinutes": 0}}', encoding="utf-8")
    settings.chmod(0o600)


def wait_for_kernel_end(place: Place) -> None:
    """Wait until the shared kernel has left, which is traced, too."""
    endpoint = place.user_data / "run" / "kernel.sock"
    wait_until(lambda: not endpoint.exists(), "the kernel stays", TIMEOUT_SECONDS)


def _stay() -> None:
    """Nothing tells that nothing happens but time."""
    pause(LOOKUP_SECONDS)


def _wait_for_vectors(place: Place) -> None:
    """Wait until they are written and private, which a slow machine may not do while we stay."""
    user_data = place.user_data
    wait_until(
        lambda: _has_private_vectors(user_data), lambda: _open_to_others(user_data), TIMEOUT_SECONDS
    )


def _has_private_vectors(user_data: Path) -> bool:
    try:
        return any(user_data.glob(VECTOR_FILES)) and not _open_to_others(user_data)
    except FileNotFoundError:  # removed in the middle of the walk
        return False


def _open_to_others(user_data: Path) -> list[str]:
    everything = (user_data, *user_data.rglob("*"))
    return [str(path) for path in everything if path.lstat().st_mode & 0o077]


def _left_in(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*"))


def _say(process: "subprocess.Popen[bytes]", number: int | None, method: str, **params: Any) -> Any:
    """Send a message of the protocol; the answer, where one is due."""
    assert process.stdin
    assert process.stdout
    message: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    if number is None:
        return None
    for line in process.stdout:
        answer = json.loads(line)
        if answer.get("id") == number and "method" not in answer:
            return answer
    raise AssertionError((process.stderr or process.stdout).read())


def _wait_for_line(process: "subprocess.Popen[bytes]", words: str) -> None:
    assert process.stderr
    for line in process.stderr:
        if words in line.decode():
            return
    raise AssertionError(f"never said: {words}")
