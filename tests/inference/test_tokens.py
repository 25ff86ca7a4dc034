import json
import shutil
from pathlib import Path

import pytest
from codekernel.inference.model_folder import read_model_folder
from codekernel.inference.tokenizer import ModelTokenizer

MODELS = Path(__file__).parents[1] / "fixtures" / "models"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(MODELS / "granite-embedding", tmp_path / "model"))


def ids(folder: Path, text: str) -> list[int]:
    (tokens,) = ModelTokenizer(read_model_folder(folder)).encode([text])
    return tokens.ids


def test_spaces_count_as_the_tokenizer_says_unless_the_folder_says_otherwise(folder: Path) -> None:
    indented, flat = "def f():\n        return\t\t1", "def f():\n return 1"
    assert ids(folder, indented) != ids(folder, flat)
    (folder / "codekernel.json").write_text(json.dumps({"collapseSpaces": True}), encoding="utf-8")
    assert ids(folder, indented) == ids(folder, flat)


def test_a_text_is_cut_to_the_models_window_with_its_special_tokens(folder: Path) -> None:
    read = read_model_folder(folder)
    short, long = ids(folder, "a"), ids(folder, "a " * 5000)
    assert len(long) == read.max_tokens
    assert (long[0], long[-1]) == (short[0], short[-1])


def test_a_pair_is_cut_at_its_longer_part(folder: Path) -> None:
    tokenization = ModelTokenizer(read_model_folder(folder))
    (pair,) = tokenization.encode_pairs([("query", "a " * 5000)])
    (query,) = tokenization.encode(["query"])
    assert len(pair.ids) == read_model_folder(folder).max_tokens
    assert pair.ids[: len(query.ids)] == query.ids


def test_half_a_character_is_replaced(folder: Path) -> None:
    assert ids(folder, "a\ud83d") == ids(folder, "a\ufffd")
