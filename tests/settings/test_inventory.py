from pathlib import Path

import pytest
from codekernel.domain.settings import LocalModel, ModelKind
from codekernel.settings import local_models as inventory_module
from codekernel.settings.local_models import (
    RERANKER_MODEL,
    STATIC_MODEL,
    TRANSFORMER_MODEL,
    inspect_local_models,
    list_built_in_models,
    measure_model_mb,
    read_manifest,
)

FIXTURES = Path(__file__).parents[1] / "fixtures" / "models"


def test_the_models_in_the_box_are_whole_and_described() -> None:
    static, transformer, reranker = inspect_local_models(list_built_in_models())
    assert (static.model.name, static.dimension, static.is_built_in) == (STATIC_MODEL, 256, True)
    assert (transformer.model.name, transformer.dimension) == (TRANSFORMER_MODEL, 384)
    assert (reranker.model.name, reranker.dimension) == (RERANKER_MODEL, None)
    assert reranker.description == "cross-encoder, reads 160 tokens, Apache-2.0"
    assert static.error == transformer.error == reranker.error == ""
    assert (
        static.description
        == f"static, reads 2048 tokens, {read_manifest()[STATIC_MODEL]['licence']}"
    )
    assert 10 < static.size_mb < 20


def test_a_model_of_the_settings_says_what_its_files_say() -> None:
    folder = FIXTURES / "bge-small-en"
    (known,) = inspect_local_models([LocalModel("mine", folder, ModelKind.EMBEDDING)])
    assert not known.is_built_in
    assert known.dimension
    assert known.description.startswith("bert, reads ")
    assert known.error == ""
    (judge,) = inspect_local_models(
        [LocalModel("r", FIXTURES / "ms-marco-MiniLM", ModelKind.RERANK)]
    )
    assert (judge.dimension, judge.error) == (None, "")


@pytest.mark.parametrize("kind", list(ModelKind))
def test_a_model_that_cannot_be_used_says_why(tmp_path: Path, kind: ModelKind) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "nowhere"):
        (known,) = inspect_local_models([LocalModel("mine", tmp_path / name, kind)])
        assert str(tmp_path / name) in known.error
        assert known.size_mb == 0


def test_a_damaged_chat_model_says_so(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    (known,) = inspect_local_models([LocalModel("mine", tmp_path, ModelKind.GENERATION)])
    assert "damaged" in known.error


def test_another_model_of_the_same_name_is_not_taken_for_ours(tmp_path: Path) -> None:
    (known,) = inspect_local_models([LocalModel(STATIC_MODEL, tmp_path, ModelKind.EMBEDDING)])
    assert not known.is_built_in
    assert known.dimension is None
    assert known.error


def test_the_size_of_a_whole_disk_is_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        (tmp_path / f"{number}.bin").write_bytes(b"x" * 500_000)
    assert measure_model_mb(tmp_path) == 2.5
    monkeypatch.setattr(inventory_module, "MAX_MODEL_FILES", 2)
    assert measure_model_mb(tmp_path) == 1.0
    assert measure_model_mb(tmp_path / "0.bin") == 0.5
