"""The static model in the box, used as any caller would: tokenizers, padding, onnxruntime."""

import json
from collections.abc import Sequence

import numpy as np
import onnxruntime
import pytest
from codekernel.settings.local_models import STATIC_MODEL, get_bundled_folder
from tokenizers import Tokenizer

FOLDER = get_bundled_folder() / STATIC_MODEL
LARGEST_FOLDER = 20_000_000
DIMENSIONS = 256


class Model:
    def __init__(self) -> None:
        self.tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
        self.session = onnxruntime.InferenceSession(
            FOLDER / "model.onnx", providers=["CPUExecutionProvider"]
        )

    def embed(self, *texts: str) -> np.ndarray:
        return self.run([encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))])

    def run(self, ids: Sequence[Sequence[int]]) -> np.ndarray:
        width = max(1, *map(len, ids))
        padded = np.array([[*one, *[0] * (width - len(one))] for one in ids], np.int64)
        mask = np.array([[1] * len(one) + [0] * (width - len(one)) for one in ids], np.int64)
        feed = {"input_ids": padded, "attention_mask": mask}
        return self.session.run(["sentence_embedding"], feed)[0]

    def likeness(self, one: str, other: str) -> float:
        first, second = self.embed(one, other)
        return float(first @ second)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


def test_the_folder_is_small_and_says_how_it_is_used() -> None:
    files = [path for path in FOLDER.rglob("*") if path.is_file()]

    assert sum(path.stat().st_size for path in files) <= LARGEST_FOLDER
    assert {"LICENSE", "README.md", "config.json"} <= {path.name for path in files}
    assert json.loads((FOLDER / "codekernel.json").read_text(encoding="utf-8")) == {
        "pooling": "none",
        "normalize": False,
        "queryPrefix": "",
        "documentPrefix": "",
        "maxTokens": 2048,
        "tokensPerBatch": 4096,
        "output": "sentence_embedding",
    }


def test_the_canonical_vectors_hold(model: Model) -> None:
    known = json.loads((FOLDER / "canonical_vectors.json").read_text(encoding="utf-8"))

    vectors = model.embed(*(one["text"] for one in known))

    assert vectors.shape == (len(known), DIMENSIONS)
    assert len(known) >= 8
    for vector, one in zip(vectors, known, strict=True):
        np.testing.assert_allclose(vector[:16], one["vector"], atol=1e-5)


def test_every_vector_has_length_one(model: Model) -> None:
    vectors = model.embed("read a file", "def f(): pass", "读取配置文件")

    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_text_has_the_same_vector_alone_and_in_a_padded_batch(model: Model) -> None:
    texts = ["close", "open the socket and listen", "for i in range(10): print(i, i, i)" * 20]

    together = model.embed(*texts)

    for vector, text in zip(together, texts, strict=True):
        np.testing.assert_allclose(vector, model.embed(text)[0], atol=1e-5)


@pytest.mark.parametrize("text", ["", "   \n\t", "{}();!?", "\ud7ff\U0001f600"])
def test_a_text_without_words_is_the_zero_vector(model: Model, text: str) -> None:
    vectors = model.embed(text, "something else beside it")

    assert not vectors[0].any()
    assert np.isfinite(vectors).all()


def test_an_identifier_means_the_same_however_it_is_written(model: Model) -> None:
    for other in ("parse_http_request", "ParseHTTPRequest", "PARSE_HTTP_REQUEST", "parse-http"):
        assert model.likeness("parseHttpRequest", other) > (0.99 if "equest" in other else 0.7)


def test_a_word_said_often_does_not_drown_the_others(model: Model) -> None:
    once = model.likeness("socket timeout", "socket")
    often = model.likeness("socket timeout", "socket " * 4 + "timeout")

    assert often > once


def test_an_unknown_compound_is_near_its_parts(model: Model) -> None:
    assert model.likeness("xmlparse", "xml parse") > 0.9


def test_meaning_reaches_beyond_the_same_words(model: Model) -> None:
    assert model.likeness("delete the folder", "def remove_directory(path)") > model.likeness(
        "delete the folder", "def render_template(context)"
    )


def test_chinese_is_read_in_words_and_rare_characters_each_by_itself(model: Model) -> None:
    assert model.tokenizer.encode("登录验证").tokens == ["登录", "##验证"]
    assert model.tokenizer.encode("龘龘").tokens == ["龘", "##龘"]


def test_a_run_of_chinese_longer_than_any_word_is_known_too(model: Model) -> None:
    assert "[UNK]" not in model.tokenizer.encode("登录" * 50).tokens


def test_chinese_finds_the_english_that_means_the_same(model: Model) -> None:
    same = model.likeness("登录", "def login(user): ...")
    other = model.likeness("登录", "def sort_array(values): ...")

    assert same > other


def test_chinese_finds_itself_before_other_chinese(model: Model) -> None:
    same = model.likeness("登录", "# 用户登录\ndef handle(request): ...")
    other = model.likeness("登录", "# 排序数组\ndef handle(request): ...")

    assert same > other + 0.1


def test_traditional_characters_are_the_simplified_ones(model: Model) -> None:
    assert model.likeness("登錄", "登录") > 0.99


def test_full_width_letters_are_letters(model: Model) -> None:
    assert model.likeness("\uff28\uff34\uff34\uff30 server", "http server") > 0.99
