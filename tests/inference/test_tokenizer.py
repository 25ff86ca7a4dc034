"""Words looked up give the tokens that the tokenizer itself gives, for any text."""

import json
import shutil
from functools import cache
from pathlib import Path

import pytest
from codekernel.inference.model_folder import read_model_folder
from codekernel.inference.tokenizer import ModelTokenCounter, ModelTokenizer, WordTokenCache
from codekernel.settings.local_models import STATIC_MODEL, TRANSFORMER_MODEL, get_bundled_folder
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, normalizers, pre_tokenizers

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


FOLDER = read_model_folder(get_bundled_folder() / STATIC_MODEL)
CODE_LETTERS = "aAbBsStTeE019_ .-\n(é中ﬁ"
CHINESE_LETTERS = "登录验证用户读取文件。々あカ한aA9_ "


# Read when they are first needed: a second of CPU, for each worker that collects tests.
@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(FOLDER.path / "tokenizer.json"))


@cache
def tokenization() -> ModelTokenizer:
    return ModelTokenizer(FOLDER)


@settings(deadline=None)  # the first example reads the files
@given(
    st.one_of(
        st.text(alphabet=CODE_LETTERS),
        st.text(alphabet=CHINESE_LETTERS),
        st.text(alphabet=st.characters(max_codepoint=127)),
    )
)
def test_a_text_has_the_tokens_its_tokenizer_gives(text: str) -> None:
    assert tokenization().encode([text])[0].ids == tokenizer().encode(text).ids


def test_texts_of_any_script_keep_their_order() -> None:
    texts = ["parseHTTPRequests", "解析请求", "", "URLs of getUserName2", "naïve", "x" * 300]
    found = [tokens.ids for tokens in tokenization().encode(texts)]
    assert found == [tokenizer().encode(text).ids for text in texts]


def test_ascii_alone_is_looked_up() -> None:
    remembering = ModelTokenizer(FOLDER)
    remembering.encode(["parse the request", "解析 parse", "读取配置文件" * 20])
    assert remembering._word_cache
    assert set(remembering._word_cache) == {"parse", "the", "request"}


def test_a_long_text_is_cut_to_the_window_of_the_model() -> None:
    ids = tokenization().encode(["word other " * 5_000])[0].ids
    assert ids == tokenizer().encode("word other " * 5_000).ids[: FOLDER.max_tokens]


def test_a_tokenizer_that_reads_words_in_their_surroundings_is_left_alone() -> None:
    transformer = Tokenizer.from_file(
        str(get_bundled_folder() / TRANSFORMER_MODEL / "tokenizer.json")
    )
    assert not WordTokenCache.supports(transformer)


def test_a_tokenizer_that_changes_ascii_first_is_left_alone() -> None:
    lowering = Tokenizer.from_str(tokenizer().to_str())
    assert WordTokenCache.supports(lowering)
    lowering.normalizer = normalizers.Lowercase()
    assert not WordTokenCache.supports(lowering)


def test_a_tokenizer_that_splits_otherwise_is_left_alone() -> None:
    other = Tokenizer.from_str(tokenizer().to_str())
    other.pre_tokenizer = pre_tokenizers.Whitespace()
    assert not WordTokenCache.supports(other)


def test_tokens_are_counted_by_the_model_in_the_box_however_long_the_text() -> None:
    count = ModelTokenCounter(get_bundled_folder() / TRANSFORMER_MODEL)
    assert count("") == 0
    assert count("hello world") == 2
    assert count("\udcff odd") > 0
    line = "def close(self) -> None:\n"
    assert abs(count(line * 20_000) - 20_000 * count(line)) < 20_000
