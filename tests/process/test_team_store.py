"""A team's store that is a real S3 server, with everything that can be wrong with it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from codekernel.sharing import contributions
from codekernel.sharing.object_store import ObjectStore, StorePlace, StoreUnavailable
from codekernel.sharing.team_vectors import TeamVectors
from sharing.team_world import FORMAT, Clock, contribute, expect, find, make_texts
from support.seaweed import READER, WRITER, Seaweed
from support.slow_proxy import SlowProxy
from support.small_disk import small_disk

WAIT_SECONDS = 60.0
KILLS, WRITERS = 12, 3
OWNER = "0123456789abcdef"
DISK_BYTES = 1_000_000
TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seaweed]:
    with Seaweed(tmp_path_factory.mktemp("weed")) as running:
        yield running


def join(
    server: Seaweed, folder: Path, credentials: str = WRITER, endpoint: str = ""
) -> TeamVectors:
    store = server.open_store(credentials, endpoint=endpoint)
    return TeamVectors(store, FORMAT, folder, OWNER, Clock())


@pytest.fixture(autouse=True)
def _small_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a single vector be worth a pack."""
    monkeypatch.setattr(contributions, "MIN_PACK_ROWS", 1)


def count_waiting(member: TeamVectors) -> int:
    assert member.contributions
    return member.contributions.waiting


def test_vectors_are_found_to_the_bit(server: Seaweed, tmp_path: Path) -> None:
    texts = make_texts(500)
    contribute(join(server, tmp_path / "ann"), texts)
    assert find(join(server, tmp_path / "bob"), texts) == expect(texts)


@pytest.mark.parametrize(
    ("credentials", "bucket", "words"),
    [
        ("writer-key:wrong", "team", "the secret key is wrong"),
        ("wrong:writer-secret", "team", "does not know the access key"),
        (READER, "nobody", "no such bucket"),
    ],
)
def test_what_is_wrong_with_keys_and_buckets_is_named(
    server: Seaweed, credentials: str, bucket: str, words: str
) -> None:
    with pytest.raises(StoreUnavailable, match=words):
        server.open_store(credentials, bucket).list_objects("vectors/")


def test_a_key_that_may_only_read_is_named_and_reads(server: Seaweed, tmp_path: Path) -> None:
    texts = make_texts(5, begin=10_000)
    contribute(join(server, tmp_path / "ann"), texts)
    reader = join(server, tmp_path / "bob", READER)
    assert find(reader, texts) == expect(texts)
    contribute(reader, make_texts(5, begin=11_000))
    assert "the key has no right to do this there" in reader.problem
    assert count_waiting(reader) == 5


def test_a_server_that_hangs_is_given_up_within_the_budget(tmp_path: Path) -> None:
    with Seaweed(tmp_path / "weed") as server:
        texts = make_texts(20)
        contribute(join(server, tmp_path / "ann"), texts)
        bob = join(server, tmp_path / "bob")
        server.suspend()
        started = time.monotonic()
        names, _ = bob.find(texts, 0.5)
        waited = time.monotonic() - started
        assert len(names) == 0
        assert waited < WAIT_SECONDS / 2, "the connection itself would wait longer"
        assert "has not answered within" in bob.problem
        server.resume()
        bob._clock.now += 10_000  # type: ignore[attr-defined]
        assert find(bob, texts) == expect(texts)


def test_a_full_store_is_named_and_nothing_is_lost(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", DISK_BYTES) as disk:
        disk.fill()
        store = ObjectStore(StorePlace(str(disk.place)), {})
        ann = TeamVectors(store, FORMAT, tmp_path, OWNER, Clock())
        texts = make_texts(300)
        contribute(ann, texts)
        assert "it is full" in ann.problem
        assert count_waiting(ann) == len(texts)
        assert find(ann, texts) == {}


def test_a_slow_store_needs_few_answers_for_many_vectors(server: Seaweed, tmp_path: Path) -> None:
    texts = make_texts(4000, begin=20_000)
    contribute(join(server, tmp_path / "ann"), texts)
    with SlowProxy(server.endpoint, delay_seconds=0.2) as proxy:
        bob = join(server, tmp_path / "bob", endpoint=proxy.endpoint)
        assert find(bob, texts) == expect(texts)
        assert proxy.requests <= 20, "packs of the other tests are asked for their keys, too"


def test_nothing_acknowledged_is_lost_when_writers_are_killed(
    server: Seaweed, tmp_path: Path
) -> None:
    random = Random(7)  # noqa: S311 - moments, no secrets
    acknowledged: set[int] = set()
    lock = threading.Lock()

    def run_writers(number: int) -> None:
        for turn in range(KILLS // WRITERS):
            begin = 1_000_000 * (1 + number) + 10_000 * turn
            command = [sys.executable, "-m", "support.team_writer", server.endpoint, str(begin)]
            paths = os.pathsep.join([str(TESTS), *sys.path])
            with subprocess.Popen(
                [*command, str(tmp_path / f"writer{number}")],
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": paths},
            ) as writer:
                assert writer.stdout
                for _ in range(random.randrange(1, 4)):
                    line = writer.stdout.readline()
                    assert line, "the writer has ended by itself"
                    with lock:
                        acknowledged.update(range(*map(int, line.split())))
                writer.send_signal(signal.SIGKILL)

    threads = [threading.Thread(target=run_writers, args=(each,)) for each in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reader = join(server, tmp_path / "reader")
    for begin in sorted({name // 1000 for name in acknowledged}):
        texts = {
            name: make_texts(1, begin=name)[name] for name in acknowledged if name // 1000 == begin
        }
        assert find(reader, texts) == expect(texts)
    assert reader.problem == ""
