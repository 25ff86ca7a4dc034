"""Damage to an index: noticed, quarantined, rebuilt from the files; search goes on meanwhile."""

import os
import random
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from codekernel.domain.index import Hit
from codekernel.errors import StorageError
from codekernel.indexing import repository_index
from codekernel.indexing.index_plan import IndexTimings
from codekernel.indexing.index_worker import IndexWorker
from codekernel.search.pipeline import Searcher
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.engines import CatalogDamaged
from codekernel.storage.index_store import IndexStore, open_index
from codekernel.storage.quarantine import list_quarantined
from codekernel.storage.vectors.vector_table import VectorTable
from indexing.harness import WAIT_TIMEOUT_SECONDS, IndexHarness, Open, static_plan
from support.effort import choose_tries

pytestmark = pytest.mark.slow  # each opens vectors

RANDOM_DAMAGES = choose_tries(4, full=60)
QUERIES = ("check_password", "how is a refund made", "weather in the north", "socket")
TOLERANCE = 2e-3
Answers = dict[str, list[tuple[str, float]]]
FILES = {
    "auth/login.py": "def check_password(name, word):\n    return stored(name) == word\n",
    "billing.py": "def refund(invoice):\n    # gives the money back\n    return -invoice.total\n",
    "weather.md": "# Weather\n\nIn the north it rains; in the south it does not.\n",
    "net/socket_pool.js": "function openSocket(host) {\n  return pool.take(host)\n}\n",
}


@pytest.fixture
def timings(request: pytest.FixtureRequest) -> IndexTimings:
    """No time for questions at the start; whatever is asked for by a test's parameters."""
    return IndexTimings(
        index_start_delay=0.0,
        embed_start_delay=0.0,
        compact_delay=0.01,
        writer_retry=0.05,
        **getattr(request, "param", {}),
    )


@pytest.fixture
def harness(open_index: Open) -> IndexHarness:
    """A settled and compacted index of a few files."""
    harness = open_index(start=False)
    for path, text in FILES.items():
        harness.write(path, text)
    harness.index.start(static_plan(1500))
    wait_for_tidying(harness)
    return harness


def wait_for_tidying(harness: IndexHarness) -> None:
    harness.wait_until_idle()
    harness.wait_until(lambda: harness.index._worker.has_settled, "tidied")


def answers(harness: IndexHarness) -> Answers:
    return {query: of_hits(search(harness, query)) for query in QUERIES}


def search(harness: IndexHarness, query: str) -> list[Hit]:
    """As a session searches: an index that is found to be damaged is healed."""
    index = harness.index
    return Searcher(harness.root, index, recover=index.recover_from).search(query, 10)


def of_hits(hits: list[Hit]) -> list[tuple[str, float]]:
    return sorted((hit.chunk.path, hit.score) for hit in hits)


def check_same_answers(found: Answers, clean: Answers) -> None:
    for query, hits in clean.items():
        assert [path for path, _ in found[query]] == [path for path, _ in hits]
        for (_, score), (_, expected) in zip(found[query], hits, strict=True):
            assert abs(score - expected) < TOLERANCE


def flip(file: Path, place: float, bit: int = 2) -> None:
    """Change one bit at a share of the file's length."""
    content = bytearray(file.read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    with file.open("r+b") as opened:
        opened.write(content)


def damage_catalog_rows(folder: Path) -> None:
    content = (folder / "catalogue.db").read_bytes()
    flip(folder / "catalogue.db", content.rindex(b"weather.md") / len(content), bit=0)


def damage_catalog_tree(folder: Path) -> None:
    with (folder / "catalogue.db").open("r+b") as file:
        file.seek(4096)  # the first byte of a page says what kind of page it is
        file.write(b"\xff\xff\xff")


def damage_words(folder: Path) -> None:
    flip(next(folder.glob("words/*.idx")), 0.3)


def damage_newest_manifest(folder: Path) -> None:
    newest = min(folder.glob("vectors/*/rows.lance/_versions/*.manifest"))
    content = newest.read_bytes()
    newest.write_bytes(content[: len(content) // 2] + b"\xff" + content[len(content) // 2 + 1 :])


def damage_older_manifest(folder: Path) -> None:
    max(folder.glob("vectors/*/rows.lance/_versions/*.manifest")).write_bytes(b"\xff" * 300)


def damage_vectors(folder: Path) -> None:
    flip(max(folder.glob("vectors/*/rows.lance/data/*.lance")), 0.2, bit=6)


def lose_catalog(folder: Path) -> None:
    (folder / "catalogue.db").unlink()


def folder_for_catalog(folder: Path) -> None:
    (folder / "catalogue.db").unlink()
    (folder / "catalogue.db" / "x").mkdir(parents=True)


def folder_for_words_file(folder: Path) -> None:
    file = next(folder.glob("words/*.term"))
    file.unlink()
    file.mkdir()


def pipe_for_catalog(folder: Path) -> None:
    (folder / "catalogue.db").unlink()
    os.mkfifo(folder / "catalogue.db")


def pipe_for_lock(folder: Path) -> None:
    (folder / "writer.lock").unlink()
    os.mkfifo(folder / "writer.lock")


def file_for_vectors(folder: Path) -> None:
    shutil.rmtree(folder / "vectors")
    (folder / "vectors").write_bytes(b"x")


def file_for_everything(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_bytes(b"x")


DAMAGES: tuple[Callable[[Path], None], ...] = (
    damage_catalog_rows,
    damage_catalog_tree,
    damage_words,
    damage_newest_manifest,
    damage_older_manifest,
    damage_vectors,
    lose_catalog,
    folder_for_catalog,
    folder_for_words_file,
    pipe_for_catalog,
    pipe_for_lock,
    file_for_vectors,
    file_for_everything,
)


def note_trouble_until_idle(harness: IndexHarness, said: set[str]) -> bool:
    status = harness.index.get_status()
    assert bool(status.trouble) == (status.cause == "damage")
    said.add(status.trouble)
    return harness.index.is_idle


def test_whatever_was_damaged_while_it_was_closed_is_healed_and_said(
    harness: IndexHarness, open_index: Open
) -> None:
    clean = answers(harness)
    pristine = harness.folder.with_name("pristine")
    harness.close()
    shutil.copytree(harness.folder, pristine)
    for damage in DAMAGES:
        if harness.folder.is_dir():
            shutil.rmtree(harness.folder)
        else:
            harness.folder.unlink()
        shutil.copytree(pristine, harness.folder)
        damage(harness.folder)
        again = open_index(static_plan(1500))
        said: set[str] = set()
        answers(again)  # at once: it may find little, and does not fail
        again.wait_until(partial(note_trouble_until_idle, again, said), damage.__name__)
        wait_for_tidying(again)
        check_same_answers(answers(again), clean)
        assert again.index.get_status().trouble == ""
        told = said - {""}
        # Nothing of these is left to be rebuilt by the time somebody can ask.
        quiet = {damage_older_manifest, pipe_for_lock, file_for_vectors, file_for_everything}
        assert told or damage in quiet, damage.__name__
        again.close()


@pytest.mark.parametrize("damage", [damage_catalog_rows, damage_words, folder_for_words_file])
def test_what_is_damaged_while_it_is_open_is_noticed_without_anybody_asking(
    harness: IndexHarness, damage: Callable[[Path], None]
) -> None:
    clean, before = answers(harness), harness.index._worker
    damage(harness.folder)
    harness.wait_until(lambda: harness.index._worker is not before, "noticed")
    harness.wait_until_idle()
    check_same_answers(answers(harness), clean)
    assert list_quarantined(harness.folder)


def test_a_search_that_meets_damage_is_answered_by_what_is_whole(harness: IndexHarness) -> None:
    clean, store = answers(harness), harness.index.store
    error = CatalogDamaged("catalogue.db is damaged: database disk image is malformed")
    assert harness.index.recover_from(error, store)
    answers(harness)
    harness.wait_until_idle()
    check_same_answers(answers(harness), clean)
    replacement = harness.index.store
    assert harness.index.recover_from(error, store)  # long replaced: nothing happens
    harness.wait_until_idle()
    assert harness.index.store is replacement


@pytest.mark.parametrize("timings", [{"max_verification_wait": 0.0}], indirect=True)
@pytest.mark.parametrize("error", [CatalogDamaged("malformed"), StorageError("it is closed")])
def test_a_search_waits_for_the_index_that_replaces_a_damaged_one(
    harness: IndexHarness, error: StorageError, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean, store = answers(harness), harness.index.store
    is_opening, may_open = threading.Event(), threading.Event()

    def open_slowly(folder: Path, **found: Any) -> IndexStore:
        is_opening.set()
        may_open.wait(WAIT_TIMEOUT_SECONDS)
        return open_index(folder, **found)

    monkeypatch.setattr(repository_index, "open_index", open_slowly)
    harness.index.recover_from(CatalogDamaged("malformed"), store, waits=False)
    assert is_opening.wait(WAIT_TIMEOUT_SECONDS)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(harness.index.recover_from, error, store)
        assert not wait([waiting], 0.2).done  # a disk may be slow
        may_open.set()
        assert waiting.result(WAIT_TIMEOUT_SECONDS)
    harness.wait_until_idle()
    check_same_answers(answers(harness), clean)


def test_a_damaged_index_is_replaced_without_waiting_for_the_vectors(
    harness: IndexHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_adding, may_add = threading.Event(), threading.Event()
    add = VectorTable.add

    def add_slowly(table: VectorTable, *rows: Any) -> None:
        is_adding.set()
        may_add.wait(WAIT_TIMEOUT_SECONDS)
        add(table, *rows)

    monkeypatch.setattr(VectorTable, "add", add_slowly)
    harness.write("thunder.md", "# Thunder\n\nIt comes after lightning.\n")
    assert is_adding.wait(WAIT_TIMEOUT_SECONDS)
    replaced = harness.index.recover_from(CatalogDamaged("malformed"), harness.index.store)
    assert replaced
    assert "thunder.md" in wait_for_words(harness, "lightning")
    assert not harness.index.vector_indexes  # one writes vectors at a time
    may_add.set()
    harness.wait_until_idle()
    assert harness.search_paths("lightning")[0] == "thunder.md"


def wait_for_words(harness: IndexHarness, query: str) -> list[str]:
    harness.wait_until(lambda: bool(harness.search_lexical(query)), f"{query} is found")
    return harness.search_lexical(query)


def test_whatever_is_read_from_a_damaged_catalog_is_read_again_from_its_successor(
    harness: IndexHarness,
) -> None:
    before = harness.index.store
    before.catalog.close()
    damage_catalog_tree(harness.folder)  # only a comparison with the checksums finds it
    assert harness.index.query_catalog(Catalog.count_contents)[0] in range(len(FILES) + 1)
    assert harness.index.store is not before
    harness.wait_until_idle()
    assert harness.index.query_catalog(Catalog.count_contents)[0] == len(FILES)


def test_an_unexpected_error_in_a_whole_index_rebuilds_nothing(harness: IndexHarness) -> None:
    store = harness.index.store
    assert not harness.index.recover_from(KeyError("a bug"), store)
    assert harness.index.store is store
    assert list_quarantined(harness.folder) == []


def test_an_index_that_cannot_be_read_says_so_in_its_status(harness: IndexHarness) -> None:
    harness.index.store.catalog.close()  # every question to it fails now
    status = harness.index.get_status()
    assert status.state == "recovering"
    assert status.trouble


@pytest.mark.parametrize("timings", [{"max_rebuilds": 0}], indirect=True)
def test_damage_again_and_again_ends_in_a_clear_state(harness: IndexHarness) -> None:
    store = harness.index.store
    assert not harness.index.recover_from(CatalogDamaged("malformed"), store)
    harness.wait_until(lambda: "check the disk" in harness.index.get_status().trouble, "said")
    assert harness.search_lexical("check_password") == [
        "auth/login.py"
    ]  # what can be read still answers


def has_another_worker(harness: IndexHarness, before: IndexWorker) -> bool:
    return harness.index._worker is not before


def test_only_the_last_quarantine_of_each_file_is_kept(harness: IndexHarness) -> None:
    for _ in range(3):
        before = harness.index._worker
        damage_words(harness.folder)
        harness.wait_until(partial(has_another_worker, harness, before), "noticed")
        wait_for_tidying(harness)
    assert [path.name for path in list_quarantined(harness.folder)] == ["words.unreadable"]


def test_a_second_process_that_reads_goes_on_with_the_rebuilt_index(
    harness: IndexHarness, open_index: Open
) -> None:
    clean = answers(harness)
    reader = open_index(static_plan(1500))
    assert reader.index.get_status().state == "read-only"
    before = reader.index._worker
    damage_catalog_rows(harness.folder)
    reader.wait_until(lambda: reader.index._worker is not before, "read anew")
    harness.wait_until_idle()
    assert reader.search_lexical("refund") == ["billing.py"]
    check_same_answers(answers(harness), clean)


def test_random_bits_in_random_files_leave_no_trace(
    harness: IndexHarness, open_index: Open
) -> None:
    clean = answers(harness)
    chance = random.Random(6)  # noqa: S311
    current = harness
    for _ in range(RANDOM_DAMAGES):
        current.close()
        files = sorted(file for file in current.folder.rglob("*") if file.is_file())
        file = chance.choice([file for file in files if file.stat().st_size])
        for _ in range(chance.choice((1, 1, 5))):
            flip(file, chance.random() * 0.999, chance.randrange(8))
        current = open_index(static_plan(1500))
        wait_for_tidying(current)
        check_same_answers(answers(current), clean)
