from pathlib import Path

import pytest

from kernel.domain.settings import LocalModel, ModelKind
from kernel.settings import inventory as inventory_module
from kernel.settings.box import RERANKER, STATIC, TRANSFORMER, built_in_models, manifest
from kernel.settings.inventory import inventory, megabytes

FIXTURES = Path(__file__).parents[1] / "fixtures" / "models"


def test_the_models_in_the_box_are_whole_and_described() -> None:
    static, transformer, reranker = inventory(built_in_models())
    assert (static.model.name, static.dimension, static.built_in) == (STATIC, 256, True)
    assert (transformer.model.name, transformer.dimension) == (TRANSFORMER, 384)
    assert (reranker.model.name, reranker.dimension) == (RERANKER, None)
    assert reranker.description == "cross-encoder, reads 160 tokens, Apache-2.0"
    assert static.trouble == transformer.trouble == reranker.trouble == ""
    assert static.description == f"static, reads 2048 tokens, {manifest()[STATIC]['licence']}"
    assert 10 < static.megabytes < 20


def test_a_model_of_the_settings_says_what_its_files_say() -> None:
    folder = FIXTURES / "bge-small-en"
    (known,) = inventory([LocalModel("mine", folder, ModelKind.EMBEDDING)])
    assert not known.built_in
    assert known.dimension
    assert known.description.startswith("bert, reads ")
    assert known.trouble == ""
    (judge,) = inventory([LocalModel("r", FIXTURES / "ms-marco-MiniLM", ModelKind.RERANK)])
    assert (judge.dimension, judge.trouble) == (None, "")


@pytest.mark.parametrize("kind", list(ModelKind))
def test_a_model_that_cannot_be_used_says_why(tmp_path: Path, kind: ModelKind) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "nowhere"):
        (known,) = inventory([LocalModel("mine", tmp_path / name, kind)])
        assert str(tmp_path / name) in known.trouble
        assert known.megabytes == 0


def test_a_damaged_chat_model_says_so(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    (known,) = inventory([LocalModel("mine", tmp_path, ModelKind.GENERATION)])
    assert "damaged" in known.trouble


def test_another_model_of_the_same_name_is_not_taken_for_ours(tmp_path: Path) -> None:
    (known,) = inventory([LocalModel(STATIC, tmp_path, ModelKind.EMBEDDING)])
    assert not known.built_in
    assert known.dimension is None
    assert known.trouble


def test_the_size_of_a_whole_disk_is_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        (tmp_path / f"{number}.bin").write_bytes(b"x" * 500_000)
    assert megabytes(tmp_path) == 2.5
    monkeypatch.setattr(inventory_module, "MOST_FILES", 2)
    assert megabytes(tmp_path) == 1.0
    assert megabytes(tmp_path / "0.bin") == 0.5
