"""Arbitrary lines by the thousand into a real kernel: none kills it, none goes unanswered.

No line may reach beyond this machine: testApi, the one message that opens connections, is left out,
and so are stopAll and stopKernel, which would rightly end the run.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from codekernel.handlers.context import main_router, session_router
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.effort import choose_tries
from support.kernel_process import KernelProcess, Line
from support.transcripts import fill_placeholders, transcripts
from tally import Tally

LEFT_OUT = {"testApi", "stopAll", "stopKernel", "kernelServerCrashed"}
MUTATED_LINES = choose_tries(30_000, full=100_000)
BATCH = 1000
INVENTED_BATCHES = choose_tries(40, full=100)
INVENTED_PER_BATCH = 25
SEED = 20261116
FENCE = 2**60


class Fuzzed:
    """A kernel under fire, and the account of what it owes."""

    def __init__(self, kernel: KernelProcess) -> None:
        self.kernel = kernel
        self.tally = Tally()
        self.lines = 0
        self._fences = 0

    def send(self, lines: list[bytes], chunks: random.Random) -> None:
        """Send a batch in arbitrary pieces and wait until it is answered."""
        for line in lines:
            self.tally.note(line)
        self.lines += len(lines)
        content = b"".join(line + b"\n" for line in lines)
        while content:
            size = chunks.randint(1, 5000)
            self.kernel.write(content[:size])
            content = content[size:]
        for session in (None, *SESSIONS):
            self._fence("getApiUsage" if session else "getRepos", session)
        self._fence("getGenerationModels", None)

    def _fence(self, message_type: str, session: int | None) -> None:
        """Wait for a request that stands behind everything else in its lane."""
        self._fences += 1
        callback_id = FENCE + self._fences
        self.tally.owed[callback_id] += 1
        seen = len(self.kernel.lines)
        self.kernel.post(message_type, session=session, callback=callback_id)
        self.kernel.reply_to(callback_id, seen)

    def verdict(self) -> list[str]:
        """What went wrong, after a clean stop."""
        stop = self.kernel.post("stopAll", callback=FENCE)
        self.tally.owed[stop] += 1
        complaints = [] if self.kernel.exit_code() == 0 else ["it did not stop cleanly"]
        replies = [line for line in self.kernel.lines if line["isReply"]]
        events = {line["message"]["type"] for line in self.kernel.lines if not line["isReply"]}
        if events - {"ready", "sessionPrepared", "reposChanged"}:
            complaints.append(f"unexpected events: {events}")
        if "Traceback" in self.kernel.log:
            complaints.append("a traceback in the log")
        return [*complaints, *self.tally.judge(replies)]


SESSIONS = (120, 121)


@pytest.fixture
def fuzzed(user_data: Path, repo: Path) -> Iterator[Fuzzed]:
    with KernelProcess(user_data) as kernel:
        kernel.event("ready")
        yield Fuzzed(kernel)


def golden_lines(repo: Path) -> list[bytes]:
    values = {"REPO": str(repo), "URL": "not used"}
    return [
        fill_placeholders(step.text, values).encode()
        for transcript in transcripts()
        if transcript.name not in LEFT_OUT
        for step in transcript.steps
        if step.who != "!"
    ]


def mutated(line: bytes, chance: random.Random) -> bytes:
    """The line with up to four wounds."""
    wounded = bytearray(line)
    for _ in range(chance.randint(0, 4)):
        at = chance.randrange(len(wounded) + 1)
        match chance.randrange(6):
            case 0:
                wounded[at:at] = bytes([chance.randrange(256)])
            case 1:
                del wounded[at : at + chance.randint(1, 8)]
            case 2 if at < len(wounded):
                wounded[at] = chance.randrange(256)
            case 3:
                wounded[at:at] = wounded[max(0, at - chance.randint(1, 30)) : at]
            case 4:
                wounded[at:at] = chance.choice(TOKENS)
            case _:
                del wounded[at:]
    return bytes(wounded).replace(b"\n", b" ")


TOKENS = (
    b"null", b"-1", b"0", b"1e999", b"true", b"{}", b"[", b'"', b"\\u0000", b"\\ud800", b",",
    b"\xff", b"\xe8\xb7\xaf", b'"callbackId":', b"99999999999999999999999", b'"message":',
)  # fmt: skip


@pytest.mark.slow
def test_mutations_of_the_documented_lines(fuzzed: Fuzzed, repo: Path) -> None:
    chance = random.Random(SEED)  # noqa: S311 - repeatable, not secret
    corpus = golden_lines(repo)
    _open_sessions(fuzzed, repo)
    while fuzzed.lines < MUTATED_LINES:
        fuzzed.send([mutated(chance.choice(corpus), chance) for _ in range(BATCH)], chance)
        _keep_sessions_open(fuzzed, repo)
    # Both sorts are there in numbers, or the run would prove little.
    assert fuzzed.tally.owed.total() > MUTATED_LINES // 10
    assert fuzzed.tally.malformed > MUTATED_LINES // 10
    assert fuzzed.verdict() == []


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=5,
)  # fmt: skip
types = st.sampled_from(
    sorted((main_router.routes.keys() | session_router.routes.keys()) - LEFT_OUT)
) | st.text(max_size=10).filter(lambda name: name not in LEFT_OUT)
fields = st.sampled_from(
    ["repoName", "path", "sessionId", "windowId", "name", "apiKey", "query", "limit", "accuracy",
     "modelName", "conversationId", "paused", "filePath", "beginLine", "endLine"]
) | st.text(max_size=6)  # fmt: skip
messages = st.builds(
    lambda kind, rest: {**rest, "type": kind}, types, st.dictionaries(fields, values, max_size=4)
)
envelopes = st.fixed_dictionaries(
    {
        "sessionId": st.sampled_from([-1, 0, 120, 121]) | values,
        "toMain": st.booleans() | values,
        "callbackId": st.integers(-1, 10_000) | values,
        "isReply": st.sampled_from([False, False, False, True]) | values,
        "message": messages | values,
    }
)


def written(envelope: dict[str, Any]) -> bytes:
    return json.dumps(envelope, ensure_ascii=True).encode()


@pytest.mark.slow
def test_invented_envelopes(fuzzed: Fuzzed, repo: Path) -> None:
    chance = random.Random(SEED)  # noqa: S311 - repeatable, not secret
    _open_sessions(fuzzed, repo)

    @settings(
        max_examples=INVENTED_BATCHES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(envelopes, min_size=INVENTED_PER_BATCH, max_size=INVENTED_PER_BATCH))
    def invent(batch: list[dict[str, Any]]) -> None:
        fuzzed.send([written(envelope) for envelope in batch], chance)
        _keep_sessions_open(fuzzed, repo)

    invent()
    assert fuzzed.lines >= INVENTED_BATCHES * INVENTED_PER_BATCH
    assert fuzzed.verdict() == []


def _open_sessions(fuzzed: Fuzzed, repo: Path) -> None:
    fuzzed.tally.owed[FENCE + 10**9] += 1
    fuzzed.kernel.post("createRepo", callback=FENCE + 10**9, repoName="demo", path=str(repo))
    _keep_sessions_open(fuzzed, repo)


def _keep_sessions_open(fuzzed: Fuzzed, repo: Path) -> None:
    """The lines may have deleted the repository or closed its sessions; the next ones need them."""
    wanted: list[tuple[str, Line]] = [
        ("createRepo", {"repoName": "demo", "path": str(repo)}),
        *(("openRepo", {"repoName": "demo", "sessionId": session}) for session in SESSIONS),
    ]
    for offset, (kind, extra) in enumerate(wanted):
        callback_id = FENCE * 2 + fuzzed.lines * 10 + offset
        fuzzed.tally.owed[callback_id] += 1
        fuzzed.kernel.post(kind, callback=callback_id, **extra)
