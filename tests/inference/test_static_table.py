"""A static model summed by numpy gives the vectors that onnxruntime gives."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import InvalidModel
from codekernel.inference.onnx_session import EncodedText, OnnxSession
from codekernel.inference.providers import CPU
from codekernel.inference.static_table import OUTPUT, StaticTable
from codekernel.settings.local_models import STATIC_MODEL, TRANSFORMER_MODEL, get_bundled_folder

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
