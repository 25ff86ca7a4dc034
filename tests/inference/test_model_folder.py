"""Folders that are no models, and texts that no model expects: clear errors or defined results."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Performance
from codekernel.errors import InvalidModel
from codekernel.inference.model_folder import (
    STATIC_MODEL,
    TRANSFORMER_MODEL,
    get_bundled_folder,
    read_model_folder,
)
from codekernel.inference.model_pool import Embedder, ModelPool
from codekernel.inference.providers import IDENTITY_MODEL

MODELS = Path(__file__).parents[1] / "fixtures" / "models"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(MODELS / "all-MiniLM-L6-v2", tmp_path / "model"))


def onnx_of(folder: Path) -> Path:
    return read_model_folder(folder).onnx_file


def is_contextual(folder: Path) -> bool:
    return read_model_folder(folder).is_contextual


def load(folder: Path) -> Embedder:
    with ModelPool().acquire_embedder(folder, Performance()) as embedder:
        return embedder


def complaint(folder: Path) -> str:
    with pytest.raises(InvalidModel) as caught:
        load(folder)
    return str(caught.value)


def test_a_folder_that_is_not_there_or_has_no_model_says_so(tmp_path: Path) -> None:
    assert "there is no model folder" in complaint(tmp_path / "nothing")
    assert "neither model.onnx nor onnx/model.onnx" in complaint(tmp_path)


def test_a_transformer_is_contextual_and_a_static_model_is_not() -> None:
    transformers = [path.parent for path in MODELS.glob("*/config.json")]
    assert [path.name for path in transformers if not is_contextual(path)] == []
    bundled = get_bundled_folder()
    assert is_contextual(bundled / TRANSFORMER_MODEL)
    assert not is_contextual(bundled / STATIC_MODEL)


def test_a_model_that_says_nothing_of_itself_counts_as_static(folder: Path) -> None:
    (folder / "config.json").unlink()
    assert not is_contextual(folder)


def test_a_truncated_model_is_named(folder: Path) -> None:
    onnx = onnx_of(folder)
    onnx.write_bytes(onnx.read_bytes()[: onnx.stat().st_size // 2])
    assert str(onnx) in complaint(folder)


def test_an_empty_model_is_named(folder: Path) -> None:
    onnx = onnx_of(folder)
    onnx.write_bytes(b"")
    assert "is empty" in complaint(folder)


def test_an_operator_set_of_the_future_is_explained(folder: Path) -> None:
    onnx_of(folder).write_bytes(IDENTITY_MODEL[:-1] + b"\x7f")
    assert "onnxruntime" in complaint(folder)


def test_a_model_that_takes_other_inputs_is_explained(folder: Path) -> None:
    onnx_of(folder).write_bytes(IDENTITY_MODEL)
    assert "takes the inputs x" in complaint(folder)


def test_missing_external_data_is_explained(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(MODELS / "bge-m3", tmp_path / "model"))
    for data in folder.rglob("*data"):
        data.unlink()
    assert "onnxruntime" in complaint(folder)


def test_a_folder_without_a_tokenizer_names_what_is_missing(folder: Path) -> None:
    for name in ("tokenizer.json", "vocab.txt"):
        (folder / name).unlink(missing_ok=True)
    assert "tokenizer.json" in complaint(folder)


def test_a_tokenizer_of_another_model_is_explained(folder: Path) -> None:
    file = folder / "tokenizer.json"
    tokenizer = json.loads(file.read_text(encoding="utf-8"))
    tokenizer["post_processor"]["special_tokens"]["[CLS]"]["ids"] = [999_999]
    file.write_text(json.dumps(tokenizer), encoding="utf-8")
    assert "belongs to another model" in complaint(folder)


def test_weights_that_are_no_numbers_are_noticed_when_loading(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(MODELS / "bge-m3", tmp_path / "model"))
    (weights,) = folder.rglob("*data")
    weights.write_bytes(b"\xff" * weights.stat().st_size)  # every float is NaN
    assert "not finite numbers" in complaint(folder)


@pytest.mark.parametrize("name", ["modules.json", "config.json", "1_Pooling/config.json"])
def test_broken_json_beside_the_model_is_named(folder: Path, name: str) -> None:
    (folder / name).write_text("{", encoding="utf-8")
    assert name.rsplit("/", 1)[-1] in complaint(folder)


def test_an_unknown_pooling_is_named(folder: Path) -> None:
    (folder / "codekernel.json").write_text('{"pooling": "max"}', encoding="utf-8")
    assert "'max'" in complaint(folder)


def test_the_fingerprint_changes_with_the_weights_and_stays_with_a_copy(
    folder: Path, tmp_path: Path
) -> None:
    before = read_model_folder(folder).fingerprint
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    assert read_model_folder(copy).fingerprint == before
    onnx = onnx_of(folder)
    content = bytearray(onnx.read_bytes())
    content[len(content) // 2] ^= 1
    onnx.write_bytes(content)
    assert read_model_folder(folder).fingerprint != before


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "\x00\x01", "half \ud83d a pair", "🙂" * 5000, "x" * 10_000_000, "الكود", "路由"],
    ids=["empty", "blank", "control", "surrogate", "emoji", "10 MB", "arabic", "chinese"],
)
def test_any_text_has_a_vector(text: str) -> None:
    with ModelPool().acquire_embedder(MODELS / "all-MiniLM-L6-v2", Performance()) as embedder:
        vector = embedder.embed_documents([text], CancelToken())[0]
        assert np.isfinite(vector).all()
        assert np.isfinite(embedder.embed_query(text)).all()


def test_a_cancelled_embedding_ends(folder: Path) -> None:
    from codekernel.errors import Cancelled  # noqa: PLC0415 - only here

    cancel = CancelToken()
    cancel.cancel()
    with (
        ModelPool().acquire_embedder(folder, Performance()) as embedder,
        pytest.raises(Cancelled),
    ):
        embedder.embed_documents(["a", "b"], cancel)


def test_a_model_is_loaded_once_for_all_and_again_when_its_files_change(folder: Path) -> None:
    pool = ModelPool()
    with pool.acquire_embedder(folder, Performance()) as one:
        with pool.acquire_embedder(folder, Performance()) as other:
            assert one is other
        (folder / "codekernel.json").write_text('{"queryPrefix": "q: "}', encoding="utf-8")
        with pool.acquire_embedder(folder, Performance()) as changed:
            assert changed is not one
    with pool.acquire_embedder(folder, Performance()) as later:
        assert later is not one
