"""Everything a person has open at once: the memory it takes, and its wake-ups while idle.

The desktop app's ``codekernel serve``, ``codekernel web`` with a tab, three ``codekernel mcp`` and
a terminal, all on one repository. What Electron and the browser take themselves is not ours.
"""

import os
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fcntl import F_SETPIPE_SZ, fcntl
from pathlib import Path

from adapters.web.browsing import WebProcess
from clients_answers import open_mcp_server
from clients_place import COMMAND, SESSION, Place, open_folder, poll, search
from clients_rows import Row
from support.kernel_process import KernelProcess
from support.shared_kernel import ENVIRON

MCP_SERVERS = 3
MAX_MEMORY_RATIO = 1.3
MEGABYTE = 2**20
SEARCHES = 5
# The index is compacted after two seconds without work; then nothing is left to do.
SETTLE_SECONDS = 15.0
IDLE_SECONDS = 60.0
MIN_PIPE_BYTES = 4096


def measure_memory(place: Place, _runs: int) -> Iterator[Row]:
    """All of them beside one kernel with one client, which has searched as often.

    None of them asks for accuracy, nor do agents: it loads a model of 180 MB.
    """
    place.kill_kernel()
    with place.connect() as connection:
        for _ in poll():
            if place.is_complete(connection):
                break
        for _ in range(SEARCHES * (MCP_SERVERS + 2)):
            search(connection, place.next_query())
        alone = measure_processes([_require_kernel(place)])
    place.kill_kernel()
    with open_everything(place) as pids, stay_in_terminal(place) as terminal:
        kernel = _require_kernel(place)
        everything = measure_processes([kernel, *pids, terminal])
        own = measure_processes([kernel])
    ratio = everything / alone
    figure = (
        f"{everything / MEGABYTE:.0f} MB, of it the kernel {own / MEGABYTE:.0f}; one kernel alone"
        f" {alone / MEGABYTE:.0f} MB: {ratio:.2f}x"
    )
    what = f"memory: serve, web with a tab, {MCP_SERVERS} mcp, a terminal (shared pages once)"
    yield what, figure, ratio <= MAX_MEMORY_RATIO


def measure_idle(place: Place, _runs: int) -> Iterator[Row]:
    """Count how often the threads of the kernel and of its clients wake up.

    Native threads are counted apart: tantivy looks at its folder twice a second. A disk that is
    mounted or unmounted meanwhile, anywhere, wakes the thread "watching".
    """
    place.warm_up()
    with open_everything(place) as pids:
        kernel = _require_kernel(place)
        time.sleep(SETTLE_SECONDS)
        before = {pid: count_switches(pid) for pid in (kernel, *pids)}
        time.sleep(IDLE_SECONDS)
        woken = {pid: _count_woken(before[pid], count_switches(pid)) for pid in before}
    ours, native = woken.pop(kernel)
    of_clients = sum(map(sum, woken.values()))
    yield (
        f"wake-ups in {IDLE_SECONDS:.0f} s, {len(pids)} clients attached",
        f"{ours} of the kernel's threads, {native} of native ones, {of_clients} of the clients'",
        not ours,
    )


def _count_woken(
    before: dict[tuple[int, str], int], after: dict[tuple[int, str], int]
) -> tuple[int, int]:
    """How often Python's threads and native ones woke up between two counts."""
    ours = native = 0
    for (task, name), count in after.items():
        woken = count - before.get((task, name), 0)
        if name.startswith("python"):  # native libraries name theirs
            ours += woken
        else:
            native += woken
    return ours, native


@contextmanager
def open_everything(place: Place) -> Iterator[list[int]]:
    """Open all clients but the terminal, each of which has searched; yields their processes."""
    with ExitStack() as opened:
        serve = opened.enter_context(place.kernel.attach())
        open_folder(serve, place.repo)
        for _ in range(SEARCHES):
            serve.request("search", session=SESSION, query=place.next_query())
        web = opened.enter_context(
            WebProcess(place.user_data, place.repo, "--no-browser", environ=ENVIRON)
        )
        tab = opened.enter_context(web.browser().tab())
        tab.open(place.repo.name)
        for _ in range(SEARCHES):
            tab.call("search", query=place.next_query())
        servers = [opened.enter_context(open_mcp_server(place)) for _ in range(MCP_SERVERS)]
        for _, ask in servers:
            for _ in range(SEARCHES):
                ask(place.next_query())
        place.warm_up()  # until the index is complete
        _confirm_notifications(serve)
        yield [serve.process.pid, web.process.pid, *(process.pid for process, _ in servers)]


def _confirm_notifications(front_end: KernelProcess) -> None:
    """Confirm as a front end does; the kernel wakes up when a confirmation is overdue."""
    status = {"code": "SUCCESS", "message": ""}
    for line in list(front_end.lines):
        if not line["isReply"]:
            front_end.send({**line, "isReply": True, "status": status})


@contextmanager
def stay_in_terminal(place: Place) -> Iterator[int]:
    """A search whose output nobody reads, so that it stays when it has all its memory."""
    reading, writing = os.pipe()
    fcntl(writing, F_SETPIPE_SZ, MIN_PIPE_BYTES)
    os.write(writing, b" " * MIN_PIPE_BYTES)  # it is full
    process = subprocess.Popen(
        [*COMMAND, "search", place.next_query()], cwd=place.repo, stdout=writing
    )
    os.close(writing)
    try:
        _wait_until_blocked(process.pid)
        yield process.pid
    finally:
        os.close(reading)
        process.wait()


def _wait_until_blocked(pid: int) -> None:
    for _ in poll():
        where = Path(f"/proc/{pid}/syscall").read_text(encoding="utf-8").split()
        if where[:2] == [str(_SYS_WRITE), "0x1"]:
            return


_SYS_WRITE = 1  # of x86-64


def measure_processes(pids: list[int]) -> int:
    """The bytes of some processes: their own pages, and each page of a file once.

    Not the sum of PSS, which leaves out what strangers on the machine share with them.
    """
    own, of_files = 0, defaultdict[tuple[str, str], int](int)
    for pid in pids:
        key, resident = ("", ""), 0
        for line in Path(f"/proc/{pid}/smaps").read_text(encoding="utf-8").splitlines():
            name, *values = line.split()
            if not name.endswith(":"):
                key = (values[-1] if len(values) > 4 else "", values[1])  # noqa: PLR2004 - the path
            elif name == "Rss:":
                resident = 1024 * int(values[0])
            elif name == "Anonymous:":
                own += 1024 * int(values[0])
                of_files[key] = max(of_files[key], resident - 1024 * int(values[0]))
    return own + sum(of_files.values())


def count_switches(pid: int) -> dict[tuple[int, str], int]:
    """The voluntary context switches of each thread of a process so far, by id and name."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        name = (task / "comm").read_text(encoding="utf-8").strip()
        for line in (task / "status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                found[int(task.name), name] = int(line.split()[1])
    return found


def _require_kernel(place: Place) -> int:
    if pid := place.find_kernel():
        return pid
    raise AssertionError("no kernel runs")
