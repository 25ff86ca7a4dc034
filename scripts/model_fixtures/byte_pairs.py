"""The tokenizer files of RoBERTa and of Qwen: byte-level BPE."""

import json
from pathlib import Path
from typing import Any

import tokenizers
import transformers
from specs import VOCABULARY
from texts import CORPUS
from tokenizers import AddedToken, pre_tokenizers, processors


def byte_bpe(folder: Path) -> dict[str, Any]:
    """vocab.json, merges.txt and tokenizer.json of RoBERTa."""
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    vocabulary, merges = learn_bytes(folder, special)
    lstrip = AddedToken("<mask>", lstrip=True, normalized=False, special=True)
    made = transformers.RobertaTokenizer(vocab=vocabulary, merges=merges, mask_token=lstrip)
    made.backend_tokenizer.save(str(folder / "tokenizer.json"))
    mask = {"__type": "AddedToken", "content": "<mask>", "lstrip": True, "normalized": False,
            "rstrip": False, "single_word": False}  # fmt: skip
    names = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>",
             "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": mask}  # fmt: skip
    return {"tokenizer_class": "RobertaTokenizer", "add_prefix_space": False, **names}


def learn_bytes(folder: Path, special: list[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Learn byte-level BPE, and keep it in vocab.json and merges.txt."""
    learner = tokenizers.Tokenizer(tokenizers.models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=alphabet, min_frequency=2
    )
    learner.train_from_iterator(CORPUS.splitlines(), trainer)
    model = json.loads(learner.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    text = json.dumps(model["vocab"], ensure_ascii=False)
    (folder / "vocab.json").write_text(text, encoding="utf-8")
    lines = ["#version: 0.2", *(" ".join(merge) for merge in merges)]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return model["vocab"], merges


def qwen_bpe(folder: Path) -> dict[str, Any]:
    """The byte-level BPE of Qwen3-Embedding: NFC, digits alone, <|endoftext|> at the end."""
    end = "<|endoftext|>"
    vocabulary, merges = learn_bytes(folder, [end, "<|im_start|>", "<|im_end|>"])
    made = transformers.Qwen2Tokenizer(vocab=vocabulary, merges=merges)
    backend = made.backend_tokenizer
    backend.post_processor = processors.Sequence(
        [
            processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False),
            processors.TemplateProcessing(
                single=f"$A:0 {end}:0",
                pair=f"$A:0 {end}:0 $B:1 {end}:1",
                special_tokens=[(end, backend.token_to_id(end))],
            ),
        ]
    )
    backend.save(str(folder / "tokenizer.json"))
    return {"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": False, "bos_token": None,
            "eos_token": "<|im_end|>", "pad_token": end, "unk_token": None, "padding_side": "left",
            "add_bos_token": False, "split_special_tokens": False}  # fmt: skip
