"""Memory that was freed really goes back; looked at in a process of its own."""

import platform
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from codekernel.domain.memory import MAX_MALLOC_ARENAS, limit_kept_memory, trim_native_memory
from support.conversation_client import SESSION, ConversationClient, chat_settings, write_sources
from support.kernel_process import KernelProcess, bare_environment

# Pieces below glibc's threshold for mappings of their own, and one that stays above them all: what
# is freed below it is kept, unless it is asked for.
_SCRIPT = """
import sys
from pathlib import Path
from pathlib import Path
from codekernel.domain.memory import trim_native_memory

def resident_pages():
    return int(Path("/proc/self/statm").read_text().split()[1])

pieces = [b"x" * 100_000 for _ in range(1000)]
last = pieces.pop()
full = resident_pages()
del pieces
kept = resident_pages()
trim_native_memory()
print(full, kept, resident_pages())
"""
MAX_LEFT_SHARE = 0.5


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's own")
def test_what_is_free_between_things_in_use_goes_back_to_the_system() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True
    )
    full, kept, after = map(int, ran.stdout.split())
    assert kept > MAX_LEFT_SHARE * full
    assert after < MAX_LEFT_SHARE * full


def test_a_process_goes_on_after_asking_for_both_more_than_once() -> None:
    pieces = [b"x" * 1000 for _ in range(1000)]
    for _ in range(2):
        limit_kept_memory()
        trim_native_memory()
    assert b"".join(pieces) == b"x" * 1_000_000


ARENA_BYTES = 64 * 1024 * 1024


def count_arenas(process_id: int) -> int:
    """Count the memory regions that glibc has reserved for threads, beside the main one."""
    lines = Path(f"/proc/{process_id}/maps").read_text(encoding="utf-8").splitlines()
    found = 0
    for used, reserved in pairwise(line.split() for line in lines):
        begin, end = (int(each, 16) for each in (used[0].split("-")[0], reserved[0].split("-")[1]))
        is_arena = used[1].startswith("rw") and reserved[1].startswith("---")
        found += is_arena and begin % ARENA_BYTES == 0 and begin + ARENA_BYTES == end
    return found


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's own")
def test_all_threads_of_a_kernel_share_few_arenas(user_data: Path, repo: Path) -> None:
    write_sources(repo)
    chat_settings(user_data, "http://127.0.0.1:9/v1", vectors=True)
    with KernelProcess(user_data) as kernel:
        kernel.open(repo, SESSION)
        client = ConversationClient(kernel, user_data)
        kernel.wait_for(lambda _: client.is_indexed(repo), "the index")
        assert count_arenas(kernel.process.pid) < MAX_MALLOC_ARENAS


# Writes when the collector looks at objects, and whether the kernel is being imported then.
_COUNTING_SERVE = """
import gc, os, sys

def note(phase, _):
    app = sys.modules.get("codekernel.app")
    if phase == "start" and app:
        os.write(2, b"after;" if hasattr(app, "Kernel") else b"importing;")

gc.callbacks.append(note)
from codekernel.cli.main import main
main(["serve"])
"""


def test_a_kernel_is_imported_without_the_collector_which_works_afterwards(
    user_data: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _COUNTING_SERVE],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=bare_environment(user_data),
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert b"importing" not in done.stderr
    assert b"after" in done.stderr
