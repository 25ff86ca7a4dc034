"""The static model in the box, used as any caller would: tokenizers, padding, onnxruntime."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Performance
from codekernel.errors import Cancelled
from codekernel.inference.model_folder import STATIC_MODEL, TRANSFORMER_MODEL, get_bundled_folder
from codekernel.inference.model_pool import Embedder, ModelPool
from onnxruntime.capi.onnxruntime_pybind11_state import Fail
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
        return np.asarray(self.session.run(["sentence_embedding"], feed)[0])

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


PATHS = ["persistence store store", "colors palette palette", "network socket socket"]


@pytest.fixture(scope="module")
def static() -> Iterator[Embedder]:
    with ModelPool().acquire_embedder(
        get_bundled_folder() / STATIC_MODEL, Performance()
    ) as embedder:
        yield embedder


def test_a_text_that_means_what_is_asked_is_the_nearest(static: Embedder) -> None:
    near = static.compute_cosines("save to the database", PATHS, CancelToken())
    assert near[0] == max(near)
    near = static.compute_cosines("网络套接字", PATHS, CancelToken())
    assert near[2] == max(near)


def test_a_text_without_words_is_near_to_nothing(static: Embedder) -> None:
    assert static.compute_cosines("save", ["", "!!!"], CancelToken()) == [0.0, 0.0]
    assert static.compute_cosines("save", [], CancelToken()) == []


@pytest.mark.slow
def test_cosines_are_those_of_the_vectors() -> None:
    folder = get_bundled_folder() / TRANSFORMER_MODEL
    with ModelPool().acquire_embedder(folder, Performance()) as embedder:
        texts = [*PATHS, "x = 1\n" * 200]
        expected = embedder.embed_documents(texts, CancelToken()) @ embedder.embed_query("a store")
        found = embedder.compute_cosines("a store", texts, CancelToken())
    assert found == pytest.approx(expected.tolist(), abs=1e-4)


def test_a_cancelled_comparison_ends(static: Embedder) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        static.compute_cosines("save", PATHS, cancel)


MODELS = Path(__file__).parents[2] / "models"
GRANITE_FOLDER = MODELS / "granite-embedding-30m-english"
PADDING = 1
TOLERANCE = 1e-5  # the weights are kept whole and computed in float32; 1e-7 was measured


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


CANONICAL = read(GRANITE_FOLDER / "canonical_vectors.json")
EXPECTED = np.array([entry["vector"] for entry in CANONICAL])


@pytest.fixture(scope="module")
def session() -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        GRANITE_FOLDER / "model.onnx", options, providers=["CPUExecutionProvider"]
    )


@pytest.fixture(scope="module")
def encoded() -> list[list[int]]:
    tokenizer = Tokenizer.from_file(str(GRANITE_FOLDER / "tokenizer.json"))
    return [tokenizer.encode(entry["text"]).ids for entry in CANONICAL]


def embed(session: Any, encoded: list[list[int]], length: int) -> np.ndarray:
    ids = np.full((len(encoded), length), PADDING, np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(encoded):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    output = read(GRANITE_FOLDER / "codekernel.json")["output"]
    vectors: np.ndarray
    (vectors,) = session.run([output], {"input_ids": ids, "attention_mask": mask})
    return vectors


def assert_canonical(vectors: np.ndarray) -> None:
    shown = vectors[:, : EXPECTED.shape[1]]
    np.testing.assert_allclose(shown, EXPECTED, rtol=0, atol=TOLERANCE)
    norms = [entry["norm"] for entry in CANONICAL]
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), norms, rtol=0, atol=TOLERANCE)


def test_the_manifest_names_every_file_a_loader_reads_with_its_hash() -> None:
    (entry,) = (
        model
        for model in read(MODELS / "manifest.json")["models"]
        if model["folder"] == GRANITE_FOLDER.name
    )
    found = {
        path.relative_to(GRANITE_FOLDER).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in GRANITE_FOLDER.rglob("*")
        if path.is_file() and path.name not in {"README.md", "LICENSE"}
    }
    assert entry["files"] == found
    assert entry["bytes"] == sum((GRANITE_FOLDER / name).stat().st_size for name in found)


def test_its_licence_and_its_card_are_beside_it() -> None:
    assert "Apache License" in (GRANITE_FOLDER / "LICENSE").read_text(encoding="utf-8")
    assert "Apache-2.0" in (GRANITE_FOLDER / "README.md").read_text(encoding="utf-8")


def test_the_tokenizer_gives_the_tokens_the_vectors_were_made_of(encoded: list[list[int]]) -> None:
    assert encoded == [entry["ids"] for entry in CANONICAL]


def test_texts_alone_have_their_canonical_vectors(session: Any, encoded: list[list[int]]) -> None:
    alone = [embed(session, [tokens], len(tokens)) for tokens in encoded]
    assert_canonical(np.concatenate(alone))


def test_a_padded_batch_has_the_same_vectors(session: Any, encoded: list[list[int]]) -> None:
    assert_canonical(embed(session, encoded, max(map(len, encoded))))


@pytest.mark.slow
def test_padding_up_to_the_longest_text_changes_nothing(
    session: Any, encoded: list[list[int]]
) -> None:
    assert_canonical(embed(session, encoded, read(GRANITE_FOLDER / "codekernel.json")["maxTokens"]))


def test_a_text_longer_than_the_model_can_read_is_refused(session: Any) -> None:
    longest = read(GRANITE_FOLDER / "codekernel.json")["maxTokens"]
    with pytest.raises(Fail, match="512 by 513"):
        embed(session, [[0] * (longest + 1)], longest + 1)
