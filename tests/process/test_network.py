"""Nothing leaves the machine and nothing is written elsewhere: checked with strace."""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support.javascript import require_strace
from support.privacy_document import documented_files
from support.system_trace import parse_trace
from support.traced_runs import RUNS, TracedRun, run_traced

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="strace is Linux's"),
]


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A path that leaves room for the name of a socket."""
    with TemporaryDirectory(prefix="ck-") as name:
        yield Path(name)


def test_nothing_leaves_the_machine_and_every_file_that_is_written_is_documented(
    short_path: Path,
) -> None:
    """One test, so that the seconds in which nothing may happen are waited for once."""
    require_strace()
    runs = run_traced(short_path)
    assert [fault for run in runs for fault in run.faults()] == []
    assert_all_were_at_work(runs)
    documented = documented_files((ROOT / "docs" / "privacy.md").read_text(encoding="utf-8"))
    written = {path for run in runs for path in _written(run)}
    assert sorted(path for path in written if not any(it.matches(path) for it in documented)) == []
    always = [it for it in documented if not it.is_seldom]
    assert [it.name for it in always if not any(map(it.matches, written))] == []


def assert_all_were_at_work(runs: list[TracedRun]) -> None:
    """A trace that sees nothing would pass everything."""
    seen = {run.name: run.trace for run in runs}
    seen_at = {run.name: run.place.user_data for run in runs}
    assert set(seen) == set(RUNS)
    for name in ("ask", "agent"):
        assert seen[name].connections, "the chat model on loopback"
    for name in ("attach", "web", "mcp", "search"):
        assert str(seen_at[name] / "run" / "kernel.sock") in seen[name].sockets, "a shared kernel"
    assert "python codekernel.indexing.chunk_worker" in seen["serve"].programs
    assert "python codekernel.callgraph.fact_indexer" in seen["mcp"].programs
    for run in runs:
        assert any(path.startswith(("index/", "agent/")) for path in _written(run)), run.name


def _written(run: TracedRun) -> set[str]:
    user_data = run.place.user_data
    return {path for path in run.trace.written_inside(user_data) if not (user_data / path).is_dir()}


LINES = r"""
10<python> execve("/usr/bin/python", ["python", "-m", "codekernel", "serve"], 0x1 /* 9 vars */) = 0
10<python> openat(AT_FDCWD</work>, "a.txt", O_WRONLY|O_CREAT, 0666) = 3</work/a.txt>
10<python> openat(AT_FDCWD</work>, "/etc/hosts", O_RDONLY) = 3</etc/hosts>
10<python> openat(AT_FDCWD</work>, "/root/no", O_WRONLY|O_CREAT, 0666) = -1 EACCES (Permission denied)
10<python> openat(AT_FDCWD</work>, "/dev/null", O_RDWR) = 3</dev/null>
11<worker> mkdir("/home/.cache", 0777) = 0
11<worker> mkdir("/home/.cache", 0777) = -1 EEXIST (File exists)
11<worker> rename("/home/b", "/home/c" <unfinished ...>
10<python> connect(3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.1")}, 16) = 0
11<worker> <... rename resumed>) = 0
10<python> connect(3<socket:[1]>, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT (No such file or directory)
10<python> connect(3<socket:[1]>, {sa_family=AF_UNIX, sun_path=@"/tmp/.X11-unix/X0"}, 20) = 0
10<python> connect(3<socket:[1]>, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")}, 16) = 0
10<python> connect(3<socket:[1]>, {sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "2001:db8::1", &sin6_addr), sin6_scope_id=0}, 28 <unfinished ...>
10<python> +++ killed by SIGKILL +++
"""  # noqa: E501


def test_a_trace_is_read_as_it_was_meant() -> None:
    found = parse_trace(LINES.splitlines(), Path("/work"))
    assert found.programs == ["python codekernel"]
    assert [one.path for one in found.writes] == [
        "/work/a.txt", "/root/no", "/home/.cache", "/home/b", "/home/c",
    ]  # fmt: skip
    assert found.lookups == ["127.0.0.1:53", "/var/run/nscd/socket"]
    assert found.sockets == ["/tmp/.X11-unix/X0"]  # noqa: S108 - a display
    assert found.outside() == ["2001:db8::1:443"]
    assert found.outside(["2001:db8::1"]) == []
    outside = found.written_outside(Path("/home"))
    assert {one.path for one in outside} == {"/work/a.txt", "/root/no"}
