"""The shipped granite model: the right bytes, and the vectors its weights mean."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail
from tokenizers import Tokenizer

MODELS = Path(__file__).parents[2] / "models"
FOLDER = MODELS / "granite-embedding-30m-english"
PADDING = 1
TOLERANCE = 1e-5  # the weights are kept whole and computed in float32; 1e-7 was measured


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


CANONICAL = read(FOLDER / "canonical_vectors.json")
EXPECTED = np.array([entry["vector"] for entry in CANONICAL])


@pytest.fixture(scope="module")
def session() -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        FOLDER / "model.onnx", options, providers=["CPUExecutionProvider"]
    )


@pytest.fixture(scope="module")
def encoded() -> list[list[int]]:
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    return [tokenizer.encode(entry["text"]).ids for entry in CANONICAL]


def embed(session: Any, encoded: list[list[int]], length: int) -> np.ndarray:
    ids = np.full((len(encoded), length), PADDING, np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(encoded):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    output = read(FOLDER / "codekernel.json")["output"]
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
        if model["folder"] == FOLDER.name
    )
    found = {
        path.relative_to(FOLDER).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in FOLDER.rglob("*")
        if path.is_file() and path.name not in {"README.md", "LICENSE"}
    }
    assert entry["files"] == found
    assert entry["bytes"] == sum((FOLDER / name).stat().st_size for name in found)


def test_its_licence_and_its_card_are_beside_it() -> None:
    assert "Apache License" in (FOLDER / "LICENSE").read_text(encoding="utf-8")
    assert "Apache-2.0" in (FOLDER / "README.md").read_text(encoding="utf-8")


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
    assert_canonical(embed(session, encoded, read(FOLDER / "codekernel.json")["maxTokens"]))


def test_a_text_longer_than_the_model_can_read_is_refused(session: Any) -> None:
    longest = read(FOLDER / "codekernel.json")["maxTokens"]
    with pytest.raises(Fail, match="512 by 513"):
        embed(session, [[0] * (longest + 1)], longest + 1)
