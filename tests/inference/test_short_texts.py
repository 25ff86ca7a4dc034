from collections.abc import Iterator

import pytest
from codekernel.domain.settings import Performance
from codekernel.inference.embedder import Embedder, ShortTextSimilarity
from codekernel.inference.model_pool import ModelPool
from codekernel.settings.local_models import STATIC_MODEL, TRANSFORMER_MODEL, get_bundled_folder

PATHS = ["persistence store store", "colors palette palette", "network socket socket"]


@pytest.fixture(scope="module")
def static() -> Iterator[Embedder]:
    with ModelPool().acquire_embedder(
        get_bundled_folder() / STATIC_MODEL, Performance()
    ) as embedder:
        yield embedder


def test_a_path_that_means_what_is_asked_is_the_nearest(static: Embedder) -> None:
    near = ShortTextSimilarity(static).compute_similarities("save to the database", PATHS)
    assert near[0] == max(near)


def test_chinese_finds_the_path_that_means_the_same(static: Embedder) -> None:
    near = ShortTextSimilarity(static).compute_similarities("网络套接字", PATHS)
    assert near[2] == max(near)


def test_a_cached_vector_gives_the_same_similarity(static: Embedder) -> None:
    expected = ShortTextSimilarity(static).compute_similarities("a question", PATHS)
    texts = ShortTextSimilarity(static, max_cached_texts=2)
    for shown in (PATHS[:2], PATHS[2:], PATHS, PATHS[::-1]):
        texts.compute_similarities("another", shown)
    assert texts.compute_similarities("a question", PATHS) == pytest.approx(expected)


def test_a_text_without_words_is_near_to_nothing(static: Embedder) -> None:
    assert ShortTextSimilarity(static).compute_similarities("save", ["", "!!!"]) == [0.0, 0.0]


def test_no_texts_no_answer(static: Embedder) -> None:
    assert ShortTextSimilarity(static).compute_similarities("save", []) == []


def test_a_transformer_is_not_asked_while_somebody_waits() -> None:
    with ModelPool().acquire_embedder(
        get_bundled_folder() / TRANSFORMER_MODEL, Performance()
    ) as embedder:
        assert ShortTextSimilarity(embedder).compute_similarities("save", PATHS) == []
