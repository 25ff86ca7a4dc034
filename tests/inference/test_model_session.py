"""Texts become tokens, batches and runs; words looked up give the tokenizer's own tokens."""

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled
from codekernel.inference.model_folder import (
    STATIC_MODEL,
    TRANSFORMER_MODEL,
    get_bundled_folder,
    read_model_folder,
)
from codekernel.inference.model_session import (
    MAX_PADDING_RATIO,
    BatchRunner,
    LoadedModel,
    ModelTokenizer,
    PrioritySemaphore,
    WordTokenCache,
    plan_batches,
)
from codekernel.inference.onnx_session import EncodedText
from codekernel.inference.providers import CPU
from hypothesis import given, settings
from hypothesis import strategies as st
from support.polling import wait_until
from tokenizers import Tokenizer, normalizers, pre_tokenizers

PATIENCE_SECONDS = 60
MODELS = Path(__file__).parents[1] / "fixtures" / "models"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(MODELS / "granite-embedding", tmp_path / "model"))


def ids(folder: Path, text: str) -> list[int]:
    (tokens,) = ModelTokenizer(read_model_folder(folder)).encode([text])
    return list(tokens.ids)


def test_spaces_count_as_the_tokenizer_says_unless_the_folder_says_otherwise(folder: Path) -> None:
    indented, flat = "def f():\n        return\t\t1", "def f():\n return 1"
    assert ids(folder, indented) != ids(folder, flat)
    (folder / "codekernel.json").write_text(json.dumps({"collapseSpaces": True}), encoding="utf-8")
    assert ids(folder, indented) == ids(folder, flat)


def test_a_text_is_cut_to_the_models_window_with_its_special_tokens(folder: Path) -> None:
    read = read_model_folder(folder)
    short, long = ids(folder, "a"), ids(folder, "a " * 5000)
    assert len(long) == read.max_tokens
    assert (long[0], long[-1]) == (short[0], short[-1])


def test_a_pair_is_cut_at_its_longer_part(folder: Path) -> None:
    tokenization = ModelTokenizer(read_model_folder(folder))
    (pair,) = tokenization.encode_pairs([("query", "a " * 5000)])
    (query,) = tokenization.encode(["query"])
    assert len(pair.ids) == read_model_folder(folder).max_tokens
    assert pair.ids[: len(query.ids)] == query.ids


def test_half_a_character_is_replaced(folder: Path) -> None:
    assert ids(folder, "a\ud83d") == ids(folder, "a\ufffd")


FOLDER = read_model_folder(get_bundled_folder() / STATIC_MODEL)
CODE_LETTERS = "aAbBsStTeE019_ .-\n(é中ﬁ"
CHINESE_LETTERS = "登录验证用户读取文件。々あカ한aA9_ "


# Read when they are first needed: a second of CPU, for each worker that collects tests.
@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(FOLDER.path / "tokenizer.json"))


@cache
def tokenization() -> ModelTokenizer:
    return ModelTokenizer(FOLDER)


@pytest.mark.slow
@settings(deadline=None)  # the first example reads the files
@given(
    st.one_of(
        st.text(alphabet=CODE_LETTERS),
        st.text(alphabet=CHINESE_LETTERS),
        st.text(alphabet=st.characters(max_codepoint=127)),
    )
)
def test_a_text_has_the_tokens_its_tokenizer_gives(text: str) -> None:
    assert list(tokenization().encode([text])[0].ids) == tokenizer().encode(text).ids


@pytest.mark.slow
def test_texts_of_any_script_keep_their_order() -> None:
    texts = ["parseHTTPRequests", "解析请求", "", "URLs of getUserName2", "naïve", "x" * 300]
    found = [list(tokens.ids) for tokens in tokenization().encode(texts)]
    assert found == [tokenizer().encode(text).ids for text in texts]


def test_ascii_alone_is_looked_up() -> None:
    remembering = ModelTokenizer(FOLDER)
    remembering.encode(["parse the request", "解析 parse", "读取配置文件" * 20])
    assert remembering._word_cache
    assert set(remembering._word_cache) == {"parse", "the", "request"}


def test_a_long_text_is_cut_to_the_window_of_the_model() -> None:
    ids = tokenization().encode(["word other " * 5_000])[0].ids
    assert list(ids) == tokenizer().encode("word other " * 5_000).ids[: FOLDER.max_tokens]


def test_a_tokenizer_that_reads_words_in_their_surroundings_is_left_alone() -> None:
    transformer = Tokenizer.from_file(
        str(get_bundled_folder() / TRANSFORMER_MODEL / "tokenizer.json")
    )
    assert not WordTokenCache.supports(transformer)


@pytest.mark.slow
def test_a_tokenizer_that_changes_ascii_first_is_left_alone() -> None:
    lowering = Tokenizer.from_str(tokenizer().to_str())
    assert WordTokenCache.supports(lowering)
    lowering.normalizer = normalizers.Lowercase()
    assert not WordTokenCache.supports(lowering)


@pytest.mark.slow
def test_a_tokenizer_that_splits_otherwise_is_left_alone() -> None:
    other = Tokenizer.from_str(tokenizer().to_str())
    other.pre_tokenizer = pre_tokenizers.Whitespace()
    assert not WordTokenCache.supports(other)


lengths = st.lists(st.integers(1, 600), max_size=200)


@given(lengths, st.integers(1, 2000))
def test_every_text_is_in_one_batch_within_the_budget_and_with_little_padding(
    lengths: list[int], budget: int
) -> None:
    batches = plan_batches(lengths, batch_size_tokens=budget)
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    for batch in batches:
        widths = [lengths[position] for position in batch]
        area = max(widths) * len(batch)
        assert len(batch) == 1 or area <= budget
        assert area - sum(widths) <= MAX_PADDING_RATIO * area


def test_texts_of_one_length_share_batches() -> None:
    assert [len(batch) for batch in plan_batches([128] * 10, batch_size_tokens=512)] == [4, 4, 2]


def test_the_longest_go_first() -> None:
    assert plan_batches([5, 500, 50], batch_size_tokens=512) == [[1], [2], [0]]


def test_nothing_to_do_is_no_batch() -> None:
    assert plan_batches([], batch_size_tokens=512) == []
    assert plan_batches([0, 3, 0], batch_size_tokens=512) == [[1]]


def test_an_urgent_run_waits_for_one_batch_and_no_more() -> None:
    runner = BatchRunner(PrioritySemaphore(1))
    order: list[str] = []
    first_runs, may_go_on = threading.Event(), threading.Event()

    def run(batch: int) -> None:
        if batch == 0:
            first_runs.set()
            assert may_go_on.wait(PATIENCE_SECONDS)
        order.append(f"bulk {batch}")

    bulk = threading.Thread(target=runner.run_batches, args=(range(5), run, CancelToken()))
    bulk.start()
    assert first_runs.wait(PATIENCE_SECONDS)
    query = threading.Thread(target=runner.run_urgent, args=("query", order.append))
    query.start()
    while not runner._semaphore._urgent_waiting:  # until the query stands in the queue
        query.join(0.001)
    may_go_on.set()
    query.join(PATIENCE_SECONDS)
    bulk.join(PATIENCE_SECONDS)
    assert order == ["bulk 0", "query", "bulk 1", "bulk 2", "bulk 3", "bulk 4"]
    runner.close()


def test_as_many_run_at_once_as_there_are_places_and_no_more() -> None:
    semaphore = PrioritySemaphore(2)
    inside: list[int] = []
    most: list[int] = []
    both = threading.Barrier(2)

    def run(number: int) -> None:
        with semaphore.acquire(urgent=False):
            inside.append(number)
            both.wait(PATIENCE_SECONDS)
            most.append(len(inside))
            both.wait(PATIENCE_SECONDS)
            inside.remove(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert most == [2] * 6


def test_a_cancel_ends_the_work_after_the_batch_that_runs() -> None:
    runner = BatchRunner(PrioritySemaphore(1))
    cancel = CancelToken()
    done: list[int] = []

    def run(batch: int) -> None:
        done.append(batch)
        if batch == 2:
            cancel.cancel()

    with pytest.raises(Cancelled):
        runner.run_batches(range(1000), run, cancel)
    runner.close()
    assert done == [0, 1, 2]


def test_a_failing_batch_ends_the_rest_and_is_raised() -> None:
    runner = BatchRunner(PrioritySemaphore(1))
    done: list[int] = []

    def run(batch: int) -> None:
        done.append(1 // (3 - batch))

    with pytest.raises(ZeroDivisionError):
        runner.run_batches(range(10_000), run, CancelToken())
    runner.close()
    assert len(done) < 10_000


def test_the_settings_cap_the_threads() -> None:
    assert PrioritySemaphore.from_max_threads(1).slots == 1
    all_cores = PrioritySemaphore.from_max_threads(0).slots
    assert PrioritySemaphore.from_max_threads(10**9).slots == all_cores


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    folder = read_model_folder(get_bundled_folder() / TRANSFORMER_MODEL)
    return LoadedModel(folder, [CPU], PrioritySemaphore(1))


def batch_of(texts: int, tokens: int) -> list[EncodedText]:
    return [EncodedText([7] * tokens, [0] * tokens)] * texts


def test_a_run_is_broken_off_in_its_middle_and_the_next_one_is_as_before(
    model: LoadedModel, capfd: pytest.CaptureFixture[str]
) -> None:
    output, small = next(iter(model.output_shapes)), batch_of(1, 8)
    before, _ = model.run(small, output)
    cancel = CancelToken()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(model.run, batch_of(32, 500), output, cancel)
        wait_until(lambda: cancel._callbacks)
        cancel.cancel()
        with pytest.raises(Cancelled):
            running.result(PATIENCE_SECONDS)
    assert np.array_equal(model.run(small, output)[0], before)
    assert capfd.readouterr() == ("", ""), "onnxruntime complained"


def test_a_run_that_comes_too_late_is_not_begun(model: LoadedModel) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        model.run(batch_of(1, 8), next(iter(model.output_shapes)), cancel)
