"""A static model summed by numpy gives the vectors that onnxruntime gives."""

import json
import random
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import InvalidModel
from codekernel.inference import model_session
from codekernel.inference.model_folder import (
    STATIC_MODEL,
    TRANSFORMER_MODEL,
    get_bundled_folder,
    read_model_folder,
)
from codekernel.inference.model_session import ModelTokenizer
from codekernel.inference.onnx_session import EncodedText, OnnxSession
from codekernel.inference.providers import CPU
from codekernel.inference.static_table import OUTPUT, StaticTable, WordPieceVocabulary
from codekernel.inference.tokenizer_loader import load_tokenizer

MODEL = get_bundled_folder() / STATIC_MODEL / "model.onnx"
SEED = 5
# One has two rows that are counted in one place, as the graph counts them.
COLLIDING = [8192 + 17, 17, 17]


@pytest.fixture(scope="module")
def table() -> StaticTable:
    found = StaticTable.read(MODEL)
    assert found is not None, "the bundled model has another graph: see NODES_DIGEST"
    return found


def test_the_vectors_are_those_of_onnxruntime(table: StaticTable) -> None:
    chosen = np.random.default_rng(SEED)
    few = chosen.integers(len(table.rows), size=40)
    lengths = [1, 2, 3, 30, 200, 2048]
    texts = [chosen.choice(few, length).tolist() for length in lengths]
    tokens_of_rows = [int(np.flatnonzero(table.rows == row)[0]) for row in COLLIDING]
    encoded = [EncodedText(ids, [0] * len(ids)) for ids in [*texts, tokens_of_rows]]

    ours, _ = table.run(encoded, OUTPUT, CancelToken())

    theirs, _ = OnnxSession(MODEL, [CPU], 0).run(encoded, OUTPUT, CancelToken())
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_a_text_without_tokens_is_the_zero_vector(table: StaticTable) -> None:
    vectors, _ = table.run([EncodedText([], []), EncodedText([7], [0])], OUTPUT, CancelToken())

    assert not vectors[0].any()
    assert np.linalg.norm(vectors[1]) == pytest.approx(1, abs=1e-6)


def test_tokens_of_another_model_are_an_invalid_model(table: StaticTable) -> None:
    with pytest.raises(InvalidModel, match="another model"):
        table.run([EncodedText([len(table.rows)], [0])], OUTPUT, CancelToken())


def test_other_models_and_damaged_files_are_left_to_onnxruntime(tmp_path: Path) -> None:
    cut = Path(shutil.copy(MODEL, tmp_path / "model.onnx"))
    cut.write_bytes(MODEL.read_bytes()[:-100_000])
    transformer = next((get_bundled_folder() / TRANSFORMER_MODEL).rglob("*.onnx"))

    assert StaticTable.read(cut) is None
    assert StaticTable.read(transformer) is None
    assert StaticTable.read(tmp_path / "absent.onnx") is None


STATIC_FOLDER = get_bundled_folder() / STATIC_MODEL
PACKAGE = Path(model_session.__file__).parents[1]


def read_static() -> WordPieceVocabulary:
    vocabulary = WordPieceVocabulary.read(STATIC_FOLDER)
    assert vocabulary
    return vocabulary


def list_words() -> list[str]:
    """The words of our own code, and made-up ones of all lengths."""
    sources = [path.read_text(encoding="utf-8") for path in (PACKAGE / "search").glob("*.py")]
    chance = random.Random(1)  # noqa: S311 - repeatable, not secret
    made_up = [
        "".join(chance.choices("abcdegsABCSTU0129", k=chance.randint(1, 60))) for _ in range(1_000)
    ]
    return [*set(re.findall("[A-Za-z0-9]+", "\n".join(sources))), *made_up]


@pytest.mark.slow
def test_words_have_the_tokens_that_the_tokenizer_gives() -> None:
    vocabulary, tokenizer = read_static(), load_tokenizer(STATIC_FOLDER)
    for word in list_words():
        assert vocabulary.encode(word) == tokenizer.encode(word, add_special_tokens=False).ids, word


def test_every_piece_is_found_and_nothing_else() -> None:
    content = json.loads((STATIC_FOLDER / "tokenizer.json").read_bytes())["model"]["vocab"]
    vocabulary = read_static()
    for piece in sorted(content)[::100]:
        assert vocabulary.find(piece) == content[piece]
        assert vocabulary.find(piece + "~") is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"type":"NFKC"', '"type":"NFC"'),
        ('"continuing_subword_prefix":"##"', '"continuing_subword_prefix":"@@"'),
        ('"unk_token":"[UNK]"', '"unk_token":"[NONE]"'),
        ('"added_tokens":[]', '"added_tokens":[1]'),
        ('"b":4,', '"b":4,"\\"":9,'),
        ('"b":4,', '"b":4,"}":9,'),
        ('"b":4,', '"b" 4,'),
        ('"vocab":{', '"vocab":['),
    ],
)
def test_a_tokenizer_of_another_kind_is_left_to_the_library(
    tmp_path: Path, old: str, new: str
) -> None:
    content = (STATIC_FOLDER / "tokenizer.json").read_text(encoding="utf-8")
    assert old in content
    (tmp_path / "tokenizer.json").write_text(content.replace(old, new, 1), encoding="utf-8")
    assert WordPieceVocabulary.read(tmp_path) is None


def test_transformers_and_folders_without_a_tokenizer_have_none(tmp_path: Path) -> None:
    assert WordPieceVocabulary.read(get_bundled_folder() / TRANSFORMER_MODEL) is None
    assert WordPieceVocabulary.read(tmp_path) is None


def is_loaded(tokenizer: ModelTokenizer) -> bool:
    created: list[object] = []
    tokenizer._tokenizer.use_if_created(created.append)
    return bool(created)


@pytest.mark.slow
def test_a_query_does_not_load_the_tokenizer_but_many_words_or_other_scripts_do() -> None:
    folder = read_model_folder(STATIC_FOLDER)
    asked = ModelTokenizer(folder, max_vocabulary_words=5)
    asked.encode(["where is the token checked"])
    assert not is_loaded(asked)
    asked.encode(["one more"])
    assert is_loaded(asked)
    other = ModelTokenizer(folder, max_vocabulary_words=5)
    other.encode(["读取配置文件"])
    assert is_loaded(other)
