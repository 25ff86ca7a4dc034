"""Every file a tokenizer can come from gives the ids that transformers and SentencePiece give."""
# ruff: noqa: RUF001 - full width is what normalisers are for

import contextlib
import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from codekernel.errors import InvalidModel
from codekernel.inference.model_folder import TRANSFORMER_MODEL, get_bundled_folder
from codekernel.inference.sentencepiece import InvalidSentencePiece, read_sentencepiece
from codekernel.inference.tokenizer_loader import ModelTokenCounter, load_tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Encoding, Tokenizer

MODELS = Path(__file__).parents[1] / "fixtures" / "models"
SENTENCEPIECE = "sentencepiece.bpe.model"


def expected(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return content


def folders(*kinds: str, having: str = "expected.json") -> list[Any]:
    found = [path.parent for path in sorted(MODELS.glob("*/expected.json"))]
    chosen = [
        path for path in found if expected(path)["kind"] in kinds and (path / having).exists()
    ]
    return [pytest.param(path, id=path.name) for path in chosen]


def copy_of(folder: Path, tmp_path: Path, *without: str) -> Path:
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*.onnx*", *without))
    return copy


def encode_texts(tokenizer: Tokenizer, reference: dict[str, Any]) -> list[list[int]]:
    if "maxTokens" in reference:
        tokenizer.enable_truncation(reference["maxTokens"])
    prefix = reference.get("documentPrefix", "")
    return [tokenizer.encode(prefix + text).ids for text in reference["texts"]]


def encode_pairs(tokenizer: Tokenizer, reference: dict[str, Any]) -> list[Encoding]:
    tokenizer.enable_truncation(reference["maxTokens"], strategy="longest_first")
    return [tokenizer.encode(query, document) for query, document in reference["pairs"]]


@pytest.mark.parametrize("folder", folders("embedding", "tokenizer"))
def test_a_text_gets_the_ids_of_the_reference(folder: Path) -> None:
    reference = expected(folder)
    assert encode_texts(load_tokenizer(folder), reference) == reference["ids"]


@pytest.mark.parametrize("folder", folders("embedding"))
def test_a_query_gets_the_ids_of_the_reference(folder: Path) -> None:
    reference = expected(folder)
    queries = {**reference, "documentPrefix": reference["queryPrefix"]}
    assert encode_texts(load_tokenizer(folder), queries) == reference["queryIds"]


@pytest.mark.parametrize("folder", folders("rerank"))
def test_a_pair_gets_the_ids_and_the_types_of_the_reference(folder: Path) -> None:
    reference = expected(folder)
    encodings = encode_pairs(load_tokenizer(folder), reference)
    assert [encoding.ids for encoding in encodings] == reference["ids"]
    assert [encoding.type_ids for encoding in encodings] == reference["typeIds"]


@pytest.mark.parametrize("folder", folders("embedding", having="vocab.txt"))
def test_vocab_txt_alone_gives_the_same_ids(folder: Path, tmp_path: Path) -> None:
    reference = expected(folder)
    copy = copy_of(folder, tmp_path, "tokenizer.json")
    assert encode_texts(load_tokenizer(copy), reference) == reference["ids"]


def test_vocab_txt_alone_gives_a_pair_the_same_ids_and_types(tmp_path: Path) -> None:
    reference = expected(MODELS / "ms-marco-MiniLM")
    copy = copy_of(MODELS / "ms-marco-MiniLM", tmp_path, "tokenizer.json")
    encodings = encode_pairs(load_tokenizer(copy), reference)
    assert [encoding.ids for encoding in encodings] == reference["ids"]
    assert [encoding.type_ids for encoding in encodings] == reference["typeIds"]


def test_vocab_json_and_merges_txt_alone_give_the_same_ids(tmp_path: Path) -> None:
    reference = expected(MODELS / "granite-embedding")
    copy = copy_of(MODELS / "granite-embedding", tmp_path, "tokenizer.json")
    rebuilt = load_tokenizer(copy)
    assert rebuilt.encode("a", "b").ids == complete("granite-embedding").encode("a", "b").ids
    assert encode_texts(rebuilt, reference) == reference["ids"]


def test_add_prefix_space_makes_the_first_word_like_every_other(tmp_path: Path) -> None:
    copy = copy_of(MODELS / "granite-embedding", tmp_path, "tokenizer.json")
    (copy / "tokenizer_config.json").write_text('{"add_prefix_space": true}', encoding="utf-8")
    tokenizer = load_tokenizer(copy)
    assert tokenizer.encode("the path").ids == tokenizer.encode(" the path").ids


def test_the_case_and_the_accents_of_vocab_txt_follow_tokenizer_config(tmp_path: Path) -> None:
    def tokens(text: str, **config: object) -> list[str]:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
        found: list[str] = load_tokenizer(tmp_path).encode(text, add_special_tokens=False).tokens
        return found

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*special, "Café", "café", "Cafe", "cafe", "代", "##码", "码"]
    (tmp_path / "vocab.txt").write_text("\r\n".join(words), encoding="utf-8", newline="")
    assert tokens("Café") == ["cafe"]
    assert tokens("Café", do_lower_case=False) == ["Café"]
    assert tokens("Café", do_lower_case=False, strip_accents=True) == ["Cafe"]
    assert tokens("Café", strip_accents=False) == ["café"]
    assert tokens("代码") == ["代", "码"]
    assert tokens("代码", tokenize_chinese_chars=False) == ["代", "##码"]


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """From sentencepiece.bpe.model alone; all the fixtures have the same."""
    copy = copy_of(MODELS / "bge-m3", tmp_path_factory.mktemp("alone"), "*.json")
    return load_tokenizer(copy)


@cache
def complete(name: str) -> Tokenizer:
    return load_tokenizer(MODELS / name)


# Words of the vocabulary, special tokens and white space make a greater difference than letters;
# U+2581 is SentencePiece's own mark for a space, which the two kinds of tokenizer.json read
# differently.
WORDS = st.sampled_from(
    [
        "repository",
        "def",
        "path",
        "如何",
        "，",
        "ﬁ",
        "Ｆ",
        "é",
        "🚀",
        "👩‍👧",
        "<s>",
        "<mask>",
        "</s>",
    ]
)
GAPS = st.text(st.sampled_from(" \t\n\r\u00a0\u2003\u2028\u3000"), max_size=3)
LETTERS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁"), max_size=8)
ANY_TEXT = st.lists(st.one_of(WORDS, GAPS, LETTERS), max_size=8).map("".join)


@pytest.mark.parametrize("name", ["multilingual-e5", "bge-reranker-base"])
@pytest.mark.slow
@settings(max_examples=settings().max_examples * 2)
@given(texts=st.lists(ANY_TEXT, min_size=8, max_size=12))
def test_sentencepiece_alone_gives_the_ids_of_the_complete_tokenizer(
    rebuilt: Tokenizer, name: str, texts: list[str]
) -> None:
    for text, other in zip(texts, reversed(texts), strict=True):
        assert rebuilt.encode(text).ids == complete(name).encode(text).ids
        assert rebuilt.encode(text, other).ids == complete(name).encode(text, other).ids


@pytest.mark.slow
@settings(max_examples=settings().max_examples * 2)
@given(texts=st.lists(ANY_TEXT.filter(lambda text: "<" not in text), min_size=8, max_size=12))
def test_bge_m3_differs_from_its_sentencepiece_only_by_a_space_it_keeps_at_the_end(
    rebuilt: Tokenizer, texts: list[str]
) -> None:
    """Its tokenizer.json does not trim, as the published one; SentencePiece's library does."""
    for text in texts:
        tokens = complete("bge-m3").encode(text).tokens
        if tokens[-2:] == ["▁", "</s>"]:
            del tokens[-2]
        assert rebuilt.encode(text).tokens == tokens


def test_no_limit_and_no_padding_of_tokenizer_json_is_left() -> None:
    published = Tokenizer.from_file(str(MODELS / "all-MiniLM-L6-v2" / "tokenizer.json"))
    assert len(published.encode("short").ids) == len(published.encode("long " * 500).ids) == 128
    tokenizer = load_tokenizer(MODELS / "all-MiniLM-L6-v2")
    assert len(tokenizer.encode("short").ids) < 10
    assert len(tokenizer.encode("long " * 500).ids) > 500


def test_a_folder_without_a_tokenizer_is_named_with_what_it_could_have(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidModel, match=r"has no tokenizer.*tokenizer\.json.*vocab\.txt"
    ) as said:
        load_tokenizer(tmp_path)
    assert str(tmp_path) in str(said.value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"),
        (b"\xff\xfe\x00", "tokenizer|SentencePiece|UTF-8|JSON|damaged|lacks"),
        (b"{]", "tokenizer|SentencePiece|UTF-8|JSON|damaged|lacks"),
        (b"[]", "tokenizer|SentencePiece|UTF-8|JSON|damaged|lacks"),
    ],
    ids=["empty", "pointer", "binary", "not JSON", "list"],
)
@pytest.mark.parametrize(
    "name",
    [
        "tokenizer.json",
        SENTENCEPIECE,
        "spiece.model",
        "tokenizer.model",
        "sentencepiece.model",
        "vocab.txt",
        "vocab.json",
    ],
)
def test_a_broken_file_names_itself(
    name: str, content: bytes, complaint: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    with pytest.raises(InvalidModel, match=complaint) as said:
        load_tokenizer(tmp_path)
    assert str(tmp_path / name) in str(said.value)


def test_a_broken_merge_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text('{"<s>": 0, "</s>": 1, "a": 2}', encoding="utf-8")
    (tmp_path / "merges.txt").write_text("#version: 0.2\na\n", encoding="utf-8")
    with pytest.raises(InvalidModel, match=r"merges\.txt, line 2"):
        load_tokenizer(tmp_path)


def test_a_broken_file_beside_the_vocabulary_names_itself(tmp_path: Path) -> None:
    copy = copy_of(MODELS / "bge-small-en", tmp_path, "tokenizer.json")
    (copy / "tokenizer_config.json").write_text("{", encoding="utf-8")
    with pytest.raises(InvalidModel, match=r"tokenizer_config\.json"):
        load_tokenizer(copy)


def test_a_vocabulary_of_another_kind_asks_for_tokenizer_json(tmp_path: Path) -> None:
    qwen = copy_of(MODELS / "qwen3-embedding", tmp_path, "tokenizer.json")
    with pytest.raises(InvalidModel, match=r"lacks <s>, </s>; .* needs a tokenizer\.json"):
        load_tokenizer(qwen)
    camembert = copy_of(MODELS / "bge-m3-pocketrag", tmp_path)
    (camembert / "config.json").write_text('{"model_type": "camembert"}', encoding="utf-8")
    with pytest.raises(InvalidModel, match=r"needs a tokenizer\.json"):
        load_tokenizer(camembert)
    shutil.copy(MODELS / "tokenizer-t5" / "spiece.model", camembert / SENTENCEPIECE)
    (camembert / "config.json").unlink()
    with pytest.raises(InvalidModel, match="not those of XLM-RoBERTa"):
        load_tokenizer(camembert)


@pytest.mark.parametrize(
    "name",
    [
        f"bge-m3/{SENTENCEPIECE}",
        pytest.param("tokenizer-llama/tokenizer.model", marks=pytest.mark.slow),
    ],
)
def test_a_sentencepiece_file_cut_short_anywhere_is_refused(name: str) -> None:
    content = (MODELS / name).read_bytes()
    read_sentencepiece(content)
    end = len(content)
    for length in (*range(0, end, 97), *range(end - 200, end)):  # the specs are at the end
        with pytest.raises(InvalidSentencePiece):
            read_sentencepiece(content[:length])


@pytest.mark.slow
@settings(max_examples=settings().max_examples * 5)
@given(data=st.data())
def test_a_damaged_sentencepiece_file_is_read_or_refused(data: st.DataObject) -> None:
    content = bytearray((MODELS / "bge-m3" / SENTENCEPIECE).read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=5)):
        content[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(InvalidSentencePiece):
        assert read_sentencepiece(bytes(content)).pieces


def test_tokens_are_counted_by_the_model_in_the_box_however_long_the_text() -> None:
    count = ModelTokenCounter(get_bundled_folder() / TRANSFORMER_MODEL)
    assert count("") == 0
    assert count("hello world") == 2
    assert count("\udcff odd") > 0
    line = "def close(self) -> None:\n"
    assert abs(count(line * 20_000) - 20_000 * count(line)) < 20_000
