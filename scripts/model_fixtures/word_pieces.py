"""The tokenizer files of BERT."""

from collections import Counter
from pathlib import Path
from typing import Any

import transformers
from specs import VOCABULARY
from texts import CORPUS
from tokenizers import normalizers, pre_tokenizers


def wordpiece(folder: Path, *, lowercase: bool = True) -> dict[str, Any]:
    """vocab.txt and tokenizer.json of BERT."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    lines = [*special, *word_pieces(lowercase=lowercase)]
    (folder / "vocab.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    vocabulary = {piece: i for i, piece in enumerate(lines)}
    made = transformers.BertTokenizer(vocab=vocabulary, do_lower_case=lowercase)
    made.backend_tokenizer.save(str(folder / "tokenizer.json"))
    return {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": lowercase,
        "strip_accents": None,
        "tokenize_chinese_chars": True,
        **dict(zip(["pad_token", "unk_token", "cls_token", "sep_token", "mask_token"], special,
                   strict=True)),
    }  # fmt: skip


def word_pieces(*, lowercase: bool) -> list[str]:
    """Every character, then what occurs most; the library's own trainer differs from run to run."""
    text = normalizers.BertNormalizer(lowercase=lowercase).normalize_str(CORPUS)
    characters: set[str] = set()
    longer: Counter[str] = Counter()
    for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text):
        for i in range(len(word)):
            mark = "##" if i else ""
            characters.add(mark + word[i])
            for j in range(i + 2, len(word) + 1):
                longer[mark + word[i:j]] += j - i
    ranked = sorted(longer, key=lambda piece: (-longer[piece], piece))
    return [*sorted(characters), *ranked][:VOCABULARY]
