"""Make the small models of tests/fixtures/models, with what torch and transformers say about them.

Run by a developer, never by CI, with a throw-away environment outside the repository::

    python3.11 -m venv fixtures-venv
    fixtures-venv/bin/pip install torch==2.13.0 transformers==5.22.2 onnx==1.23.2 \
        sentencepiece==0.2.2 onnxruntime==1.31.1 tokenizers==0.23.3
    fixtures-venv/bin/python scripts/model_fixtures/make.py [name ...]

Each folder has the files and the names of a well-known export, around random weights and a
vocabulary learnt from the few lines in texts.py. ``expected.json`` is the reference: ids by
transformers, vectors and scores by torch on the torch model, one text at a time; the ONNX file is
only compared with it. Seeds are fixed. See tests/fixtures/README.md.
"""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
from byte_pairs import byte_bpe, qwen_bpe
from export import export
from json_files import write_expected, write_json
from layouts import write_sentence_transformers, write_tokenizer_config
from networks import network
from reference import compare, expected_scores, expected_vectors
from sentencepiece_files import make_tokenizers
from specs import MODELS, SPECS, Spec
from unigram import unigram
from word_pieces import wordpiece

TOLERANCE = 2e-5

TOKENIZERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "wordpiece": wordpiece,
    "wordpiece-cased": lambda folder: wordpiece(folder, lowercase=False),
    "byte-bpe": byte_bpe,
    "qwen-bpe": qwen_bpe,
    "unigram": unigram,
    "unigram-by-words": lambda folder: unigram(folder, by_words=True),
}


def make(spec: Spec) -> None:
    """Write one folder whole."""
    folder = MODELS / spec.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_tokenizer_config(folder, spec, TOKENIZERS[spec.tokenizer](folder))
    size = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab_size()
    model = network(spec, size)
    inputs = ["input_ids", "attention_mask"]
    if spec.network in {"bert", "nomic_bert"}:
        inputs.append("token_type_ids")
    model.config.architectures = [type(model).__name__]
    settings = {
        key: value for key, value in model.config.to_dict().items() if not key.startswith("_")
    }
    write_json(folder / "config.json", settings)
    for name in spec.left_out:  # before the reference: transformers sees what the kernel will see
        (folder / name).unlink(missing_ok=True)
    # XLMRobertaTokenizer of transformers 5 overlooks the steps in tokenizer.json for its own.
    has_json = (folder / "tokenizer.json").exists()
    kind = transformers.PreTrainedTokenizerFast if has_json else transformers.AutoTokenizer
    tokenizer = kind.from_pretrained(folder)
    reference = expected_scores if spec.kind == "rerank" else expected_vectors
    expected = reference(spec, model, tokenizer)
    if spec.layout != "bare":
        write_sentence_transformers(folder, spec)
    export(model, spec, folder / spec.file, inputs)
    write_expected(folder, expected)
    distance = compare(spec, folder / spec.file, expected)
    kilobytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) // 1024
    print(f"{spec.name:24} {kilobytes:4} KB  {size} tokens  onnx differs by {distance:.1e}")
    if distance > TOLERANCE:
        sys.exit(f"{spec.name}: the ONNX file does not compute what torch computes")


def main() -> int:
    """Make the named folders, or all."""
    torch.set_num_threads(1)
    make_tokenizers()
    for spec in SPECS:
        if spec.name in sys.argv[1:] or not sys.argv[1:]:
            make(spec)
    return 0


if __name__ == "__main__":
    sys.exit(main())
