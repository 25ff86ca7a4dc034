"""Another model or another cut takes over an index: nobody who searches meanwhile notices."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from codekernel.domain.index import EMBEDDING_PENDING, FRESH
from codekernel.domain.settings import Performance
from codekernel.indexing.index_plan import BatchSizes, ConfigPlan, IndexPlan, IndexTimings
from codekernel.indexing.unused_vectors import OUTDATED_MODELS
from codekernel.inference.model_folder import STATIC_MODEL, get_bundled_folder
from codekernel.storage.index_store import list_vectors_folders
from codekernel.storage.vectors import SNAPSHOT_SUFFIX
from codekernel.storage.vectors.vector_table import MIN_COMMITS_TO_COMPACT
from indexing.harness import IndexHarness, Open, static_plan
from support.index_contents import compare
from support.indexer_process import IndexerProcess, index_until_idle

FILES = 150
FEW_VERSIONS = 2
SEARCHES = 5
PATIENCE_SECONDS = 60
# Found by its meaning alone: no word of the question stands in the file or in its name.
QUESTION, ANSWER = "give money back to a customer", "accounts.py"
REFUND = "def refund(invoice):\n    invoice.amount = -invoice.amount\n    return invoice\n"

pytestmark = pytest.mark.slow


@pytest.fixture
def older_model(tmp_path: Path) -> Path:
    """A model that is another one to the index, and as good as the one in the box."""
    place = tmp_path / "older"
    shutil.copytree(get_bundled_folder() / STATIC_MODEL, place)
    described = json.loads((place / "codekernel.json").read_text(encoding="utf-8"))
    (place / "codekernel.json").write_text(json.dumps(described | {"maxTokens": 1000}), "utf-8")
    return place


@pytest.fixture
def timings() -> IndexTimings:
    return IndexTimings(embed_retry=0.05)


@pytest.fixture
def on_battery() -> threading.Event:
    """While it is set nothing is embedded, if the settings ask for that; words go on."""
    return threading.Event()


@pytest.fixture
def battery_probe(on_battery: threading.Event) -> Callable[[], bool]:
    return on_battery.is_set


def plan_with(model: Path) -> IndexPlan:
    """Embedding some hundred files takes many steps with it."""
    return IndexPlan(configs=(ConfigPlan("mine", model, 900, BatchSizes(4, 4, 4)),))


def sparing(plan: IndexPlan) -> IndexPlan:
    return replace(plan, performance=Performance(pause_on_battery=True))


def write_files(root: Path) -> None:
    (root / ANSWER).write_text(REFUND, encoding="utf-8")
    for number in range(FILES):
        text = f"def matrix_{number}(rows):\n    return transpose(rows, {number})\n"
        (root / f"module_{number}.py").write_text(text, encoding="utf-8")


def indexed(open_index: Open, plan: IndexPlan) -> IndexHarness:
    opened = open_index(start=False)
    write_files(opened.root)
    opened.index.start(plan)
    opened.wait_until_idle()
    assert ANSWER not in opened.search_lexical(QUESTION)
    return opened


def folders(opened: IndexHarness) -> list[str]:
    """The names of all tables; their snapshots lie beside them."""
    places = (opened.folder / "vectors").iterdir()
    return sorted(place.name for place in places if place.suffix != SNAPSHOT_SUFFIX)


def is_opened(opened: IndexHarness, *names: str) -> bool:
    return [config.name for config in opened.index.get_status().configs if config.ready] == [*names]


def lacking(opened: IndexHarness, length: int) -> int:
    """How many texts the current vector indexes have no vector for."""
    _, keys = opened.index.store.catalog.read_chunk_keys(length)
    current = opened.index._worker.embed_worker.swap.current
    return sum(len(each.table.find_missing(keys)) for each in current)


class Asker:
    """Asks the same question all the time; ``missed`` are the answers without the right file."""

    def __init__(self, opened: IndexHarness) -> None:
        self.missed: list[object] = []
        self.asked = 0
        self._opened = opened
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._ask, name="asker")

    def hear(self, searches: int = SEARCHES) -> None:
        """Wait until so many searches more have begun and ended."""
        with self._changed:
            wanted = self.asked + searches + 1
            assert self._changed.wait_for(
                lambda: self.asked >= wanted or self.missed, PATIENCE_SECONDS
            )

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._stop.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._stop.is_set():
            try:
                found = self._opened.search_paths(QUESTION)
                missed: list[object] = [] if ANSWER in found else [found]
            except Exception as error:  # noqa: BLE001 - told by the test
                missed = [error]
            with self._changed:
                self.asked += 1
                self.missed += missed
                self._changed.notify_all()


@contextmanager
def asking(opened: IndexHarness) -> Iterator[Asker]:
    asker = Asker(opened)
    asker.start()
    try:
        asker.hear()
        yield asker
        asker.hear()
    finally:
        asker.end()
    assert asker.missed == []


def test_every_search_finds_by_meaning_while_another_model_takes_over(
    open_index: Open, older_model: Path
) -> None:
    opened = indexed(open_index, plan_with(older_model))
    (before,) = folders(opened)
    threads = [each for each in threading.enumerate() if each.name.startswith("inference")]
    assert threads
    with asking(opened) as asker:
        opened.index.pause()
        opened.index.reconfigure(plan_with(get_bundled_folder() / STATIC_MODEL))
        opened.wait_until(lambda: len(folders(opened)) == 2, "the new model is opened")
        asker.hear()
        (status,) = opened.index.get_status().configs
        assert status.chunks == 0, "the new config's progress is told"
        opened.index.resume()
        opened.write("saved.py", "def brand_new(): ...\n")
        opened.wait_until(
            lambda: opened.search_lexical("brand_new") == ["saved.py"], "found by its words"
        )
        opened.wait_until_idle()
    (after,) = folders(opened)
    assert after != before
    assert lacking(opened, 900) == 0
    assert opened.count_vectors() == [FILES + 2]
    opened.wait_until(
        lambda: not any(each.is_alive() for each in threads), "the old model's threads have ended"
    )


def test_every_search_finds_by_meaning_while_the_files_are_cut_anew(open_index: Open) -> None:
    opened = indexed(open_index, static_plan(300))
    (before,) = folders(opened)
    with asking(opened):
        opened.index.reconfigure(static_plan(900))
        opened.wait_until(lambda: before not in folders(opened), "the old vectors are gone")
        assert lacking(opened, 900) == 0
        opened.wait_until_idle()
    assert len(folders(opened)) == 1
    assert opened.index.store.catalog.list_chunk_sizes() == [900]


def test_other_threads_for_the_same_model_embed_nothing_and_are_not_noticed(
    open_index: Open,
) -> None:
    opened = indexed(open_index, static_plan(900))
    before, told = folders(opened), len(opened.reports)
    with asking(opened):
        opened.index.reconfigure(replace(static_plan(900), performance=Performance(max_threads=1)))
        opened.wait_until(
            lambda: opened.index.vector_indexes[0].performance.max_threads == 1,
            "opened with one thread",
        )
        opened.wait_until_idle()
    assert (folders(opened), opened.reports[told:]) == (before, [])


def test_settings_that_are_taken_back_bring_back_the_old_model_and_what_it_missed(
    open_index: Open, older_model: Path, on_battery: threading.Event
) -> None:
    opened = indexed(open_index, sparing(plan_with(older_model)))
    before, indexes = folders(opened), opened.index.vector_indexes
    on_battery.set()
    with asking(opened):
        opened.index.reconfigure(sparing(static_plan(900)))
        opened.wait_until(lambda: is_opened(opened, "static-900"), "the new model is opened")
        opened.write("saved.py", "def brand_new(): ...\n")
        opened.wait_until(
            lambda: opened.search_lexical("brand_new") == ["saved.py"], "found by its words"
        )
        opened.index.reconfigure(sparing(plan_with(older_model)))
        opened.wait_until(lambda: is_opened(opened, "mine"), "the old one is back")
        on_battery.clear()
        opened.wait_until(lambda: "saved.py" in opened.list_done(), "what was saved meanwhile")
        opened.wait_until_idle()
    assert opened.index.vector_indexes == indexes
    assert folders(opened) == before
    assert opened.count_vectors() == [FILES + 2]


def test_a_model_that_cannot_be_used_is_told_and_the_old_vectors_are_kept(
    open_index: Open, older_model: Path, tmp_path: Path
) -> None:
    opened = indexed(open_index, plan_with(older_model))
    before = folders(opened)
    opened.index.reconfigure(plan_with(tmp_path / "nowhere"))
    opened.wait_until(lambda: bool(opened.index.get_status().configs[0].trouble), "trouble")
    opened.wait_until_idle()
    assert opened.index.vector_indexes == ()
    assert opened.search_paths("refund")[0] == ANSWER
    assert folders(opened) == before


def test_what_is_saved_while_nothing_can_be_embedded_is_found_by_words_and_called_pending(
    open_index: Open, on_battery: threading.Event
) -> None:
    opened = indexed(open_index, static_plan(300))
    on_battery.set()
    with asking(opened) as asker:
        opened.index.reconfigure(sparing(static_plan(900)))
        opened.wait_until(lambda: is_opened(opened, "static-900"), "the new model is opened")
        opened.write("saved.py", "def brand_new(): ...\n")
        opened.wait_until(
            lambda: "saved.py" in opened.search_lexical("brand_new"), "found by its words"
        )
        found = {hit.chunk.path: hit.freshness for hit in opened.search("brand_new refund")}
        assert (found["saved.py"], found[ANSWER]) == (EMBEDDING_PENDING, FRESH)
        asker.hear()
        on_battery.clear()
        opened.wait_until_idle()
    assert opened.search("brand_new")[0].freshness == FRESH
    assert opened.index.store.catalog.list_chunk_sizes() == [900]


def test_an_index_of_an_older_program_is_searched_by_words_until_its_vectors_are_replaced(
    open_index: Open, older_model: Path
) -> None:
    made = indexed(open_index, plan_with(older_model))
    (before,) = folders(made)
    made.close()
    shutil.rmtree(older_model)
    opened = open_index(start=False)
    opened.index.pause()
    opened.index.start(static_plan(900))
    assert opened.search_paths("refund")[0] == ANSWER
    opened.wait_until(lambda: is_opened(opened, "static-900"), "the new model is opened")
    assert opened.search_paths("refund")[0] == ANSWER
    assert before in folders(opened)
    opened.index.resume()
    opened.wait_until(lambda: opened.count_vectors()[0] > 0, "the first vectors are searched")
    opened.wait_until(lambda: before not in folders(opened), "the old vectors are gone")
    assert lacking(opened, 900) == 0
    opened.wait_until_idle()
    assert len(folders(opened)) == 1
    assert ANSWER in opened.search_paths(QUESTION)


def test_a_kill_before_the_old_vectors_are_replaced_loses_nothing(tmp_path: Path) -> None:
    root, folder = tmp_path / "repo", tmp_path / "index"
    root.mkdir()
    write_files(root)
    index_until_idle(root, folder, "300")
    (made,) = list_vectors_folders(folder)
    older = made.rename(made.with_name("0123456789abcdef-300"))
    killed = IndexerProcess(root, folder, "300")
    assert killed.wait_for_line("done")
    killed.kill()
    assert older.exists(), "deleted before the new vectors were complete"
    assert made.exists()
    again = index_until_idle(root, folder, "300")
    assert list_vectors_folders(folder) == [made]
    assert not again.list_reported("done") & killed.list_reported("done"), (
        "something was embedded twice"
    )
    index_until_idle(root, tmp_path / "clean", "300")
    compare(folder, tmp_path / "clean")


@pytest.mark.parametrize(
    "name", ["f9270d03cd4ee0a6-950", "387b0376004604bb-950", "0123456789abcdef-950"]
)
def test_of_vectors_that_no_settings_speak_of_only_those_of_an_outdated_model_go(
    open_index: Open, name: str
) -> None:
    made = indexed(open_index, static_plan(900))
    (mine,) = folders(made)
    made.close()
    shutil.copytree(made.folder / "vectors" / mine, made.folder / "vectors" / name)
    opened = open_index(start=False)
    opened.index.start(replace(static_plan(900), is_certain=False))
    opened.wait_until_idle()
    outdated = name.startswith(tuple(OUTDATED_MODELS))
    assert folders(opened) == ([mine] if outdated else sorted([mine, name]))


def count_versions(harness: IndexHarness) -> int:
    """Counted from outside: LanceDB cannot list them while it removes some."""
    return sum(1 for _ in harness.folder.glob("vectors/*/*/_versions/*.manifest"))


def has_more_vectors(harness: IndexHarness, count: int) -> bool:
    return sum(harness.count_vectors()) > count


def test_vectors_are_tidied_only_when_no_file_is_under_way(open_index: Open) -> None:
    harness = open_index()
    harness.wait_until_idle()
    progress = harness.index._progress
    progress.begin_files(["on its way.py"])
    for number in range(MIN_COMMITS_TO_COMPACT + 1):
        harness.write(f"file{number}.py", f"def function{number}():\n    return {number}\n")
        harness.wait_until(partial(has_more_vectors, harness, number), "a vector")
    harness.wait_until_idle()
    harness.index._worker.embed_worker._compact()
    assert count_versions(harness) > MIN_COMMITS_TO_COMPACT

    progress.finish_file("on its way.py")
    harness.wait_until(lambda: count_versions(harness) <= FEW_VERSIONS, "tidied")
