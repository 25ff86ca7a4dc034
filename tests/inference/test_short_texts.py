from collections.abc import Iterator

import pytest

from kernel.domain.settings import Performance
from kernel.inference import short_texts
from kernel.inference.embedder import Embedder
from kernel.inference.shelf import Shelf
from kernel.inference.short_texts import ShortTexts
from kernel.settings.box import STATIC, TRANSFORMER, box_folder

PATHS = ["persistence store store", "colors palette palette", "network socket socket"]


@pytest.fixture(scope="module")
def static() -> Iterator[Embedder]:
    with Shelf().embedder(box_folder() / STATIC, Performance()) as embedder:
        yield embedder


def test_a_path_that_means_what_is_asked_is_the_nearest(static: Embedder) -> None:
    near = ShortTexts(static).likeness("save to the database", PATHS)
    assert near[0] == max(near)


def test_chinese_finds_the_path_that_means_the_same(static: Embedder) -> None:
    near = ShortTexts(static).likeness("网络套接字", PATHS)
    assert near[2] == max(near)


def test_what_is_remembered_is_what_would_be_said_anew(
    static: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    anew = ShortTexts(static).likeness("a question", PATHS)
    monkeypatch.setattr(short_texts, "TEXTS_REMEMBERED", 2)
    texts = ShortTexts(static)
    for shown in (PATHS[:2], PATHS[2:], PATHS, PATHS[::-1]):
        texts.likeness("another", shown)
    assert texts.likeness("a question", PATHS) == pytest.approx(anew)


def test_a_text_without_words_is_near_to_nothing(static: Embedder) -> None:
    assert ShortTexts(static).likeness("save", ["", "!!!"]) == [0.0, 0.0]


def test_no_texts_no_answer(static: Embedder) -> None:
    assert ShortTexts(static).likeness("save", []) == []


def test_a_transformer_is_not_asked_while_somebody_waits() -> None:
    with Shelf().embedder(box_folder() / TRANSFORMER, Performance()) as embedder:
        assert ShortTexts(embedder).likeness("save", PATHS) == []
