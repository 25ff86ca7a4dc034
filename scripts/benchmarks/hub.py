"""What the hub adds: ``bench.py hub [--devices N] [--sessions N] [--changes N]``.

A kernel, a hub and the devices are processes of their own. Each change of a session has the moment
of its telling in its name: the kernel's own follower gives the time without the hub, the devices
that with it. Parts: latency (one device), crowd (all devices, none may miss anything), replay
(2,000 missed events), memory (the hub after 10,000 events).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median, quantiles
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for folder in ("tests", "kernel"):
    sys.path.insert(0, str(ROOT / folder))

import httpx  # noqa: E402 - the paths are needed
import psutil  # noqa: E402
from codekernel.adapters.hub.database import HubDatabase  # noqa: E402
from codekernel.adapters.hub.devices import DeviceRegistry  # noqa: E402
from codekernel.adapters.hub.running_hub import RunningHub  # noqa: E402
from codekernel.client.agent_sessions import RemoteAgentSessions  # noqa: E402
from codekernel.client.kernel_requests import KernelRequests  # noqa: E402
from codekernel.domain.agent_sessions import Actor, NewSession, SyncEvent  # noqa: E402
from support.shared_kernel import ENVIRON, SharedKernel  # noqa: E402
from verdicts import verdict  # noqa: E402

DEVICES, SESSIONS, CHANGES = 200, 20, 25
LATENCY_CHANGES = 500
REPLAYED_EVENTS = 2_000
MEMORY_EVENTS = 10_000
LATENCY_TARGET_MS, REPLAY_TARGET_MS, MEMORY_TARGET_MB = 20.0, 200.0, 64.0
# Between two changes that are measured, so that they do not wait for each other.
PAUSE_SECONDS = 0.005
ACTOR = Actor("cli", "bench")
MEGABYTE = 2**20


class HubPlace:
    """A kernel and a hub that run, sessions, and the follower without the hub."""

    def __init__(self, folder: Path, session_count: int) -> None:
        self.user_data, repo = folder / "userData", folder / "repo"
        self.user_data.mkdir()
        repo.mkdir()
        self.kernel = RemoteAgentSessions(KernelRequests(self.user_data, "bench"))
        self.sessions = [
            self.kernel.start_session(NewSession(str(repo), ACTOR, tag=str(number))).id
            for number in range(session_count)
        ]
        self.direct: dict[str, int] = {}
        self.kernel.subscribe(self._note)
        command = [sys.executable, "-m", "codekernel", "hub", "--port", "0"]
        self.hub = subprocess.Popen(
            [*command, "--user-data", str(self.user_data)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while (running := RunningHub.read(self.user_data)) is None:
            time.sleep(0.05)
        self.port, self.url = running.port, running.url
        self._devices = DeviceRegistry(HubDatabase(self.user_data))

    def sign_in(self, name: str) -> str:
        """Return the token of a new device."""
        _, key = self._devices.add(name)
        response = httpx.post(f"{self.url}/api/auth", json={"accessToken": key}, trust_env=False)
        return str(response.json()["token"])

    def change(self, session_id: str) -> None:
        """Change a session; its name tells when."""
        self.kernel.update_session(session_id, name=f"at {time.monotonic_ns()}")

    def close(self) -> None:
        """End the hub and the kernel."""
        self.hub.terminate()
        self.hub.wait()
        self.kernel.close()
        with suppress(Exception):
            SharedKernel(self.user_data).kill()

    def _note(self, event: SyncEvent) -> None:
        if event.session is not None:
            self.direct[event.session.name.removeprefix("at ")] = time.monotonic_ns()


@contextmanager
def follow(place: HubPlace, devices: list[dict[str, Any]]) -> Iterator["subprocess.Popen[str]"]:
    """Start the devices; within the block every one of them listens."""
    plan = json.dumps({"port": place.port, "devices": devices})
    script = str(Path(__file__).with_name("hub_devices.py"))
    with subprocess.Popen(
        [sys.executable, script, plan], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout  # noqa: S101 - Popen was asked for it
        if process.stdout.readline().strip() != "ready":
            raise SystemExit("the devices cannot listen")
        yield process


def read_arrivals(process: "subprocess.Popen[str]") -> dict[str, Any]:
    """Return what the devices wrote at their end."""
    assert process.stdout  # noqa: S101 - as above
    arrivals: dict[str, Any] = json.loads(process.stdout.readline())
    return arrivals


def measure_latency(place: HubPlace) -> bool:
    """One device, one change after another."""
    token = place.sign_in("one")
    device = {"query": "all=1", "token": token, "count": LATENCY_CHANGES}
    with follow(place, [device]) as process:
        for number in range(LATENCY_CHANGES):
            place.change(place.sessions[number % len(place.sessions)])
            time.sleep(PAUSE_SECONDS)
        (arrived,) = read_arrivals(process)["arrivals"]
    direct = [(place.direct[mark] - int(mark)) / 1e6 for mark, _ in arrived]
    through = [(at - int(mark)) / 1e6 for mark, at in arrived]
    added = [(at - place.direct[mark]) / 1e6 for mark, at in arrived]
    print(f"latency: {LATENCY_CHANGES} changes, one device; ms from the change to its reading")
    print("|                    |   p50 |   p95 |\n|--------------------|------:|------:|")
    for name, values in (("follower of kernel", direct), ("device of the hub", through)):
        print(f"| {name} | {median(values):5.2f} | {find_p95(values):5.2f} |")
    is_met = verdict("added by the hub, p50", median(added), LATENCY_TARGET_MS, " ms")
    return verdict("added by the hub, p95", find_p95(added), LATENCY_TARGET_MS, " ms") and is_met


def find_p95(values: list[float]) -> float:
    """Return the 95th percentile."""
    return quantiles(values, n=20)[-1]


def measure_crowd(place: HubPlace, count: int, changes: int) -> bool:
    """Many devices on all sessions; each must get every change, in order."""
    tokens = [place.sign_in(f"crowd {number}") for number in range(count)]
    total = changes * len(place.sessions)
    devices = [{"query": "all=1", "token": token, "count": total} for token in tokens]
    sent: list[str] = []
    with follow(place, devices) as process:
        began = time.monotonic()
        for _ in range(changes):
            for session_id in place.sessions:
                place.change(session_id)
        arrivals = read_arrivals(process)["arrivals"]
        seconds = time.monotonic() - began
    sent = sorted((mark for mark, _ in arrivals[0]), key=int)
    lost = sum([mark for mark, _ in each] != sent for each in arrivals)
    waits = [(at - place.direct[mark]) / 1e6 for each in arrivals for mark, at in each]
    print(
        f"crowd: {count} devices, {len(place.sessions)} sessions, {total} changes as fast as the"
        f" kernel makes them: {count * total / seconds:,.0f} deliveries/s;"
        f" added by the hub p50 {median(waits):.1f} ms, p95 {find_p95(waits):.1f} ms"
    )
    return verdict("devices that missed a change or had it twice or out of order", lost, 0)


def measure_replay(place: HubPlace) -> bool:
    """A device comes back after 2,000 events."""
    token = place.sign_in("sleeper")
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.stream(
        "GET", f"{place.url}/api/events?all=1", headers=headers, trust_env=False, timeout=60
    ) as response:
        lines = response.iter_lines()
        next(lines)
        place.change(place.sessions[0])
        last_id = next(line for line in lines if line.startswith("id: ")).removeprefix("id: ")
    for number in range(REPLAYED_EVENTS):
        place.change(place.sessions[number % len(place.sessions)])
    device = {
        "query": "all=1", "token": token, "count": REPLAYED_EVENTS, "lastEventId": last_id,
    }  # fmt: skip
    seconds: list[float] = []
    for _ in range(5):
        with follow(place, [device]) as process:
            told = read_arrivals(process)
        seconds.append((told["arrivals"][0][-1][1] - told["began"]) / 1e6)
    print(f"replay: {REPLAYED_EVENTS} missed events, from the dial to the last; five times")
    return verdict("best", min(seconds), REPLAY_TARGET_MS, " ms")


def measure_memory(place: HubPlace) -> bool:
    """The hub's memory after many events, of which it keeps some."""
    hub = psutil.Process(place.hub.pid)
    before = hub.memory_info().rss / MEGABYTE
    threads = [threading.Thread(target=change_often, args=(place, part)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    middle = hub.memory_info().rss / MEGABYTE
    for thread in [threading.Thread(target=change_often, args=(place, part)) for part in range(4)]:
        thread.start()
        thread.join()
    after = hub.memory_info().rss / MEGABYTE
    print(f"memory of the hub: {before:.0f} MB, {middle:.0f} MB after {MEMORY_EVENTS} events,")
    print(f"{after:.0f} MB after as many again; it keeps the last 8,192")
    return verdict("grown by the second half", after - middle, MEMORY_TARGET_MB, " MB")


def change_often(place: HubPlace, part: int) -> None:
    """Make a quarter of the changes."""
    for number in range(MEMORY_EVENTS // 4):
        place.change(place.sessions[(part + number) % len(place.sessions)])


def main() -> int:
    """Run all parts; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=DEVICES)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--changes", type=int, default=CHANGES)
    options = parser.parse_args()
    os.environ.update(ENVIRON)
    with tempfile.TemporaryDirectory(prefix="codekernel-hub-") as folder:
        place = HubPlace(Path(folder), options.sessions)
        try:
            met = [
                measure_latency(place),
                measure_replay(place),
                measure_crowd(place, options.devices, options.changes),
                measure_memory(place),
            ]
        finally:
            place.close()
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
