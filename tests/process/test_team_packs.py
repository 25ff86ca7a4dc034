"""Packs of whole indexes in a real S3 server, with what can be wrong with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.packs import index_packs
from codekernel.packs.commits import CommitPlace
from codekernel.sharing.object_store import StoreUnavailable
from packs.packs_world import PackWorld, count_embedded, expect_notice, search_all
from support.seaweed import BUCKET, READER, WRITER, Seaweed
from support.slow_proxy import SlowProxy

DELAY_SECONDS = 0.2


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seaweed]:
    with Seaweed(tmp_path_factory.mktemp("weed")) as running:
        yield running


def make_world(
    server: Seaweed, folder: Path, credentials: str = WRITER, endpoint: str = "", place: str = ""
) -> PackWorld:
    store = f"s3://{BUCKET}/{place or folder.name}"
    folder.mkdir(exist_ok=True)
    return PackWorld(folder, store, endpoint or server.endpoint, credentials)


@pytest.mark.slow
def test_a_pack_of_a_bucket_ranks_as_ones_own_index(server: Seaweed, tmp_path: Path) -> None:
    world = make_world(server, tmp_path)
    world.build()
    with SlowProxy(server.endpoint, DELAY_SECONDS) as proxy:
        mate = make_world(server, tmp_path / "mate", READER, proxy.endpoint, tmp_path.name)
        with mate.open("ann", mate.root) as ann:
            found = search_all(ann)
            assert count_embedded(ann) == 0
            expect_notice(ann, "0 embedded")
    with world.open("alone", world.root, shares=False) as alone:
        assert search_all(alone) == found


@pytest.mark.slow
def test_a_large_pack_is_sent_in_parts_and_fetched_in_pieces(
    server: Seaweed, tmp_path: Path
) -> None:
    world = make_world(server, tmp_path)
    pack = tmp_path / "large"
    pack.write_bytes(bytes(range(256)) * 60_000)  # 15 MB: three parts
    packs = world.list_packs()
    commit = CommitPlace("ab" * 20)
    packs.send(pack, "demo", commit, "0" * 16, "1" * 16)
    (stored,) = packs.list_packs()
    assert stored.size == pack.stat().st_size
    fetched = tmp_path / "fetched.part"
    packs.fetch(stored, fetched, CancelToken())
    assert fetched.read_bytes() == pack.read_bytes()
    assert packs.find_nearest("0" * 16, [commit])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("credentials", "words"),
    [
        ("writer-key:wrong", "the secret key is wrong"),
        ("nobody:secret", "does not know the access key"),
        (READER, "no right"),
    ],
)
def test_a_pack_that_cannot_be_sent_says_why(
    server: Seaweed, tmp_path: Path, credentials: str, words: str
) -> None:
    world = make_world(server, tmp_path, credentials)
    with pytest.raises(StoreUnavailable, match=words):
        world.build()


@pytest.mark.slow
def test_a_store_that_hangs_while_a_pack_is_fetched_costs_an_index_of_ones_own(
    server: Seaweed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(server, tmp_path)
    world.build()
    monkeypatch.setattr(index_packs, "LIST_TIMEOUT_SECONDS", 0.5)
    server.suspend()
    try:
        with world.open("ann", world.root) as ann:
            assert "has not answered within" in ann.index.get_status().notice
            assert ann.search_paths("Session.close")[0] == "src/session.py"
    finally:
        server.resume()
    with world.open("bob", world.root) as bob:
        expect_notice(bob, "0 embedded")
