"""Campaign ``connections``: attacks on real listeners, with an honest client throughout and after.

web, ide-tools, mcp and backend have 1,024 descriptors each. Every attack is made on each of them
while an honest client comes again and again; then request lines and JSON are fuzzed, for them and
for ``serve``. A failure is an honest client that was not served within ``SERVED_WITHIN_SECONDS``,
an answer that should not be, a traceback in a log, an exit code, or memory that has grown.
"""

import contextlib
import multiprocessing
import random
import resource
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "fuzz"))

from support.hostile_connections import parse_status, send_raw_request
from support.kernel_process import KernelProcess
from trust_connections_attacks import ATTACKS, Attack
from trust_connections_fuzz import deep_line, wounded_json, wounded_request
from trust_connections_targets import Honest, Target, measure_seconds, targets
from trust_result import CampaignResult

DEFAULT_FUZZED = 10_000
SERVED_WITHIN_SECONDS = 2.0
# Interpreter, models and threads aside, an attack may leave this much behind.
MAX_GROWTH_BYTES = 200 * 1024 * 1024
MAX_DESCRIPTORS_HERE = 12_000
LINES_PER_BATCH = 100
# The smallest status of an error.
ERROR = 400
ATTACK_TIMEOUT_SECONDS = 120.0


def run(seed: int, tries: int | None) -> CampaignResult:
    """Attack, fuzz, and ask in between; ``tries`` is how much is fuzzed."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    fuzzed = DEFAULT_FUZZED if tries is None else tries
    _raise_descriptors()
    campaign = _Campaign(chance)
    with targets() as listeners:
        for attack in chance.sample(ATTACKS, len(ATTACKS)):
            for target in listeners:
                campaign.attack(target, attack)
        for target in listeners:
            campaign.fuzz_requests(target, fuzzed // 6)
            campaign.fuzz_json(target, fuzzed // 12)
            campaign.failures += target.finish()
    campaign.fuzz_serve(fuzzed // 4)
    slowest = max(campaign.waits, default=0.0)
    note = f"{len(campaign.waits):,} honest requests, the slowest served in {slowest:.2f} s"
    return CampaignResult(
        "connections", campaign.tries, tuple(campaign.failures), (note, *campaign.notes)
    )


class _Campaign:
    """What was tried so far, and what went wrong."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.tries = 0
        self.failures: list[str] = []
        self.waits: list[float] = []
        self.notes: list[str] = []

    def attack(self, target: Target, attack: Attack) -> None:
        """One attack on one listener."""
        what = f"{getattr(attack, '__name__', attack)} on {target.name}"
        before = target.memory_bytes
        # In a process of its own: an attacker shares no interpreter with an honest client.
        attacker = multiprocessing.get_context("fork").Process(
            target=attack,
            args=(target, random.Random(self._chance.getrandbits(64))),  # noqa: S311
        )
        attacker.start()
        with Honest(target) as honest:
            attacker.join(ATTACK_TIMEOUT_SECONDS)
        if attacker.exitcode != 0:
            self.failures.append(f"{what}: see the traceback above")
            attacker.kill()
        self._take(what, honest)
        self._ask(target, f"after {what}")
        grown = target.memory_bytes - before
        if grown > MAX_GROWTH_BYTES:
            self.failures.append(f"{what}: memory has grown by {grown // 2**20} MiB")
        self.tries += 1

    def fuzz_requests(self, target: Target, count: int) -> None:
        """Malformed heads: an error or a closed connection, never success, never silence."""
        for _ in range(count):
            request = wounded_request(target.port, self._chance)
            self.tries += 1
            try:
                status = parse_status(send_raw_request(target.port, request))
            except OSError as error:
                self.failures.append(f"{target.name}: {error} for {request[:200]!r}")
                continue
            # A wounded request may still be whole; but it has no token, so it is refused.
            if 0 < status < ERROR:
                self.failures.append(f"{target.name}: {status} for {request[:200]!r}")
        self._ask(target, f"after {count} malformed requests to {target.name}")

    def fuzz_json(self, target: Target, count: int) -> None:
        """Malformed JSON from inside: refused or ignored, and the listener goes on."""
        for _ in range(count):
            text = wounded_json(self._chance)
            self.tries += 1
            with self._noting(f"{target.name} after {text[:100]!r}"):
                target.send_json(text)
        self._ask(target, f"after {count} malformed messages to {target.name}")

    def fuzz_serve(self, count: int) -> None:
        """The lines of tests/fuzz, and deep nesting, into ``serve``."""
        import test_lines  # noqa: PLC0415 - needs hypothesis, which only development has

        with tempfile.TemporaryDirectory(prefix="trust-serve-") as place:
            user_data, repo = Path(place, "userData"), Path(place, "demo")
            user_data.mkdir()
            repo.mkdir()
            with KernelProcess(user_data) as kernel:
                kernel.event("ready")
                fuzzed = test_lines.Fuzzed(kernel)
                corpus = test_lines.golden_lines(repo)
                while fuzzed.lines < count:
                    size = min(LINES_PER_BATCH, count - fuzzed.lines)
                    lines = [
                        test_lines.mutated(self._chance.choice(corpus), self._chance)
                        for _ in range(size - 1)
                    ]
                    lines.insert(self._chance.randrange(size), deep_line(self._chance))
                    fuzzed.send(lines, self._chance)
                self.tries += fuzzed.lines
                self.failures += [f"serve: {complaint}" for complaint in fuzzed.verdict()]

    def _ask(self, target: Target, when: str) -> None:
        with self._noting(f"an honest client {when}"):
            for ask in (target.ask_anew, target.ask_again):
                wait = measure_seconds(ask)
                self.waits.append(wait)
                if wait > SERVED_WITHIN_SECONDS:
                    raise AssertionError(f"served after {wait:.1f} s")

    def _take(self, what: str, honest: Honest) -> None:
        self.waits += honest.waits
        late = [wait for wait in honest.waits if wait > SERVED_WITHIN_SECONDS]
        if late:
            self.failures.append(f"{what}: an honest client waited {max(late):.1f} s")
        self.failures += [f"{what}: {failure}" for failure in honest.failures[:3]]

    @contextlib.contextmanager
    def _noting(self, what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a failure
            self.failures.append(f"{what}: {type(error).__name__} {error}")


def _raise_descriptors() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS_HERE if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, MAX_DESCRIPTORS_HERE), hard))
