"""The tokenizer files of XLM-RoBERTa: SentencePiece, and tokenizer.json in its two kinds."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import sentencepiece
import tokenizers
import transformers
from json_files import write_json
from sentencepiece_files import learn_sentencepiece, read_sentencepiece
from specs import VOCABULARY
from texts import CORPUS, TEXTS
from tokenizers import AddedToken, Regex, decoders, normalizers, pre_tokenizers

# In place of nmt_nfkc, whose table alone is 240 KB: white space, full width, ligatures.
SPACES = [0x9, 0xA, 0xB, 0xC, 0xD, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029]
SPACES += [0x202F, 0x205F, 0x3000]
RULES = [f"{code:X}\t20" for code in SPACES]
RULES += [f"{code + 0xFEE0:X}\t{code:X}" for code in range(0x21, 0x7F)]
RULES += [
    "FB01\t66 69",
    "FB02\t66 6C",
    "2026\t2E 2E 2E",
    "65 301\tE9",
    "BD\t31 2044 32",
    "200B\t20",
]


def unigram(folder: Path, *, by_words: bool = False) -> dict[str, Any]:
    """sentencepiece.bpe.model, and the tokenizer.json of bge-m3, or of the older XLM-RoBERTa."""
    file = folder / "sentencepiece.bpe.model"
    with tempfile.TemporaryDirectory() as work:
        rules = Path(work, "rules.tsv")
        rules.write_text("\n".join(RULES) + "\n", encoding="utf-8")
        options = {"vocab_size": VOCABULARY, "normalization_rule_tsv": str(rules)}
        learn_sentencepiece(file, model_type="unigram", **options)
    made = xlm_roberta(file, by_words=by_words)
    made.save(str(folder / "tokenizer.json"))
    names = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>",
             "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}  # fmt: skip
    return {"tokenizer_class": "XLMRobertaTokenizer", **names}


def xlm_roberta(file: Path, *, by_words: bool) -> tokenizers.Tokenizer:
    """Build what the hub's tokenizer.json files hold; transformers is asked for the second kind."""
    with tempfile.TemporaryDirectory() as work:
        shutil.copy(file, work)
        write_json(Path(work, "config.json"), {"model_type": "xlm-roberta"})
        made = transformers.XLMRobertaTokenizer.from_pretrained(work).backend_tokenizer
    check_against_sentencepiece(made, file)
    if not by_words:
        charsmap = bytes(read_sentencepiece(file).normalizer_spec.precompiled_charsmap)
        made.normalizer = normalizers.Sequence(
            [normalizers.Precompiled(charsmap), normalizers.Replace(Regex(" {2,}"), " ")]
        )
        made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
        made.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
        made.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    made.no_truncation()
    made.no_padding()
    return made


def check_against_sentencepiece(made: tokenizers.Tokenizer, file: Path) -> None:
    """The library that wrote the file agrees, but for the fairseq shift of the ids."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(file))
    for text in (*CORPUS.splitlines(), *TEXTS):
        if "<" in text:  # only added tokens see <s> in a text
            continue
        shifted = [i + 1 if i else 3 for i in processor.encode(text)]
        assert made.encode(text).ids == [0, *shifted, 2], text  # noqa: S101
