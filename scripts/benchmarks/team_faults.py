"""A team's store with everything wrong with it: ``team_faults.py [--only NAME ...]``.

A real SeaweedFS on loopback, and the commands of a person who has a repository open that is in the
team's base and one file of which is edited: ``share status``, ``search`` and, where writing is what
fails, ``build-base``. Prints what each says and how long it takes, and whether the search found
what is edited, and the sentence the cause.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from clients_place import ROOT  # noqa: F401 - where the kernel is found
from support.kernel_process import bare_environment
from support.seaweed import BUCKET, READER, WRITER, Seaweed
from support.slow_proxy import SlowProxy
from support.small_disk import small_disk
from verdicts import verdict

DELAY_SECONDS, TIMEOUT_SECONDS = 0.2, 300
EDITED = "def edited_here(session):\n    return session.close_when_edited()\n"
QUERY = "where is a session closed when edited"

# What libc tells the time by; compiled for the command alone, whose clock is an hour late.
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(id, at);
    if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) at->tv_sec -= 3600;
    return failed;
}
"""


@dataclass(frozen=True)
class Fault:
    """How a store is reached, and what a person must read."""

    endpoint: str
    words: str
    credentials: str = WRITER
    bucket: str = BUCKET
    preload: str = ""
    writes: bool = False


def main() -> int:
    """Print the sentences; 0 if each names the cause, and each search found what is here."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=FAULTS, default=list(FAULTS))
    options = parser.parse_args()
    unclear: list[str] = []
    with tempfile.TemporaryDirectory() as made, Seaweed(Path(made) / "weed") as server:
        world = FaultWorld(Path(made), server)
        world.prepare()
        for name in options.only:
            with FAULTS[name](world) as fault:
                unclear += world.try_fault(name, fault)
    print("\n".join(unclear))
    met = verdict("causes that are not named, and searches that failed", len(unclear), 0)
    return 0 if met else 1


OpenFault = Callable[["FaultWorld"], AbstractContextManager[Fault]]


class FaultWorld:
    """A repository, a healthy store with its base, and the commands of a person."""

    def __init__(self, folder: Path, server: Seaweed) -> None:
        self.folder, self.server = folder, server
        self.root, self.user_data = folder / "shop", folder / "data"

    def prepare(self) -> None:
        """Build the base, open the repository over it, and edit a file."""
        self.root.mkdir()
        for number in range(30):
            text = f"def close_session_{number}(session):\n    return session.close({number})\n"
            (self.root / f"session_{number}.py").write_text(text, "utf-8")
        healthy = Fault(self.server.endpoint, "")
        self._run(healthy, "build-base", "shop", "--repo", str(self.root))
        (self.root / "session_3.py").write_text(EDITED, "utf-8")
        print(self._run(healthy, "search", "--wait", QUERY)[1].splitlines()[:2])

    def try_fault(self, name: str, fault: Fault) -> list[str]:
        """Run the commands; return what a person would not understand."""
        print(f"\n{name}")
        unclear = []
        said = self._tell(fault, "share", "status")
        if fault.words and not re.search(fault.words, said):
            unclear.append(f"{name}, share status: {said}")
        said = self._tell(fault, "search", QUERY)
        if "session_3.py" not in said:
            unclear.append(f"{name}, search: {said}")
        if fault.writes:
            said = self._tell(fault, "build-base", "other", "--repo", str(self.root))
            if not re.search(fault.words, said):
                unclear.append(f"{name}, build-base: {said}")
        return unclear

    def _tell(self, fault: Fault, *words: str) -> str:
        code, said, seconds = self._run(fault, *words)
        shown = [line for line in said.splitlines() if line.strip()]
        kept = [it for it in shown if re.search(r"PROBLEM|team|base|store|session_3", it)] or shown
        print(f"  codekernel {words[0]}: exit code {code}, {seconds:.1f} s")
        for line in kept[:6]:
            print(f"    {line[:400]}")
        sys.stdout.flush()
        return said

    def _run(self, fault: Fault, *words: str) -> tuple[int, str, float]:
        sharing = {
            "store": f"s3://{fault.bucket}/ck",
            "mode": "read-write",
            "endpoint": fault.endpoint,
            "base": "shop",
        }
        self.user_data.mkdir(exist_ok=True)
        settings = json.dumps({"sharing": sharing})
        (self.user_data / "settings.json").write_text(settings, "utf-8")
        key, secret = fault.credentials.split(":")
        environ = {
            **bare_environment(self.user_data),
            "CODEKERNEL_SHARING_SALT": "the salt of this team",
            "CODEKERNEL_STANDALONE": "1",
            "AWS_ACCESS_KEY_ID": key,
            "AWS_SECRET_ACCESS_KEY": secret,
        }
        if fault.preload:
            environ["LD_PRELOAD"] = fault.preload
        began = time.monotonic()
        ended = subprocess.run(
            [sys.executable, "-m", "codekernel", *words],
            cwd=self.root,
            env=environ,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        return ended.returncode, ended.stdout + ended.stderr, time.monotonic() - began


@contextmanager
def stop(world: FaultWorld) -> Iterator[Fault]:
    """The server accepts and does not answer."""
    world.server.suspend()
    try:
        yield Fault(world.server.endpoint, "has not answered within|does not answer in time")
    finally:
        world.server.resume()


@contextmanager
def leave(_world: FaultWorld) -> Iterator[Fault]:
    """There is no server."""
    yield Fault("http://127.0.0.1:9", "nothing answers at its address")


@contextmanager
def slow_down(world: FaultWorld) -> Iterator[Fault]:
    """Each request takes 200 ms more, which is no fault of the store but of a search's time."""
    with SlowProxy(world.server.endpoint, DELAY_SECONDS) as proxy:
        yield Fault(proxy.endpoint, "")


@contextmanager
def fill(world: FaultWorld) -> Iterator[Fault]:
    """The disk of the server is full."""
    with ExitStack() as opened:
        disk = opened.enter_context(small_disk(world.folder / "disk", 60 * 2**20))
        server = opened.enter_context(Seaweed(disk.place / "weed"))
        disk.fill()
        yield Fault(server.endpoint, "full", writes=True)


def use(words: str, **facts: str | bool) -> OpenFault:
    """Return a fault of the settings."""

    @contextmanager
    def open_(world: FaultWorld) -> Iterator[Fault]:
        yield Fault(world.server.endpoint, words, **facts)  # type: ignore[arg-type]

    return open_


@contextmanager
def turn_clock(world: FaultWorld) -> Iterator[Fault]:
    """The clock of this machine is an hour late."""
    source, library = world.folder / "clock.c", world.folder / "clock.so"
    source.write_text(CLOCK, "utf-8")
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit("the fault of the clock needs a C compiler: --only the others")
    command = [compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    yield Fault(world.server.endpoint, "the clock of this machine is wrong", preload=str(library))


@contextmanager
def ignore_conditions(world: FaultWorld) -> Iterator[Fault]:
    """The server overwrites what it was asked not to."""
    with SlowProxy(world.server.endpoint, 0.0, dropped=("If-None-Match",)) as proxy:
        words = "does not refuse to overwrite"
        yield Fault(proxy.endpoint, words, writes=True)


FAULTS: dict[str, OpenFault] = {
    "stopped": stop,
    "no server": leave,
    "slow, 200 ms a request": slow_down,
    "full": fill,
    "wrong secret": use("the secret key is wrong", credentials="writer-key:other-secret"),
    "wrong key": use("it does not know the access key", credentials="other-key:writer-secret"),
    "a key that may only read": use("the key has no right", credentials=READER, writes=True),
    "wrong bucket": use("there is no such bucket", bucket="other", credentials=READER),
    "wrong clock": turn_clock,
    "no conditional writes": ignore_conditions,
}

if __name__ == "__main__":
    sys.exit(main())
