"""SentencePiece models: learnt, written without traces of the machine, and read."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import sentencepiece
from json_files import write_expected
from specs import MODELS, VOCABULARY
from texts import CORPUS, TEXTS


def learn_sentencepiece(file: Path, **options: Any) -> None:
    """Learn a SentencePiece model, and leave out of the file where it was learnt."""
    with tempfile.TemporaryDirectory() as work:
        corpus = Path(work, "corpus.txt")
        corpus.write_text(CORPUS, encoding="utf-8")
        sentencepiece.SentencePieceTrainer.train(
            input=str(corpus),
            model_prefix=f"{work}/learnt",
            hard_vocab_limit=options["model_type"] == "bpe",
            character_coverage=1.0,
            num_threads=1,
            minloglevel=2,
            **options,
        )
        model = read_sentencepiece(Path(work, "learnt.model"))
    for name in ("input", "model_prefix"):
        model.trainer_spec.ClearField(name)
    model.normalizer_spec.ClearField("normalization_rule_tsv")
    file.write_bytes(model.SerializeToString(deterministic=True))


def read_sentencepiece(file: Path) -> Any:
    """A SentencePiece file, read by the protobuf of its makers and not by the kernel's reader."""
    from sentencepiece import sentencepiece_model_pb2  # noqa: PLC0415 - wants protobuf

    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(file.read_bytes())
    return model


def make_tokenizers() -> None:
    """Two SentencePiece files without a model, of the other kinds; the reference is its library."""
    llama = {"model_type": "bpe", "byte_fallback": True, "remove_extra_whitespaces": False,
             "normalization_rule_name": "identity", "allow_whitespace_only_pieces": True,
             "split_digits": True, "vocab_size": 700}  # fmt: skip
    t5 = {"model_type": "unigram", "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1,
          "vocab_size": VOCABULARY}  # fmt: skip
    for name, file_name, options in (
        ("tokenizer-llama", "tokenizer.model", llama),
        ("tokenizer-t5", "spiece.model", t5),
    ):
        folder = MODELS / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        learn_sentencepiece(folder / file_name, **options)
        processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / file_name))
        texts = [text for text in TEXTS if "<s>" not in text]  # SentencePiece sees text in it
        frame = {"add_bos": name == "tokenizer-llama", "add_eos": name == "tokenizer-t5"}
        ids = [processor.encode(text, **frame) for text in texts]
        write_expected(folder, {"kind": "tokenizer", "texts": texts, "ids": ids})
