"""Chunks per second of sentence-transformers on texts from stdin; runs in its own environment.

The model has the shape of granite-embedding-30m (RoBERTa, 6 layers, 384) and random weights, for
speed does not depend on them; the tokenizer is the one in the box.
"""

import json
import sys
import time
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Normalize, Pooling, Transformer
from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaModel

BOX = Path(__file__).parents[2] / "models" / "granite-embedding-30m-english"
ROUNDS = 3
SPECIAL = {"pad_token": "<pad>"}


def main() -> None:
    """Print one JSON object: length -> chunks per second."""
    samples = json.load(sys.stdin)
    model = _model(Path(sys.argv[1]) if sys.argv[1:] else Path("granite-shape"))
    rates = {}
    with torch.inference_mode():
        for size, texts in samples.items():
            times = []
            for _ in range(ROUNDS):
                started = time.perf_counter()
                model.encode(texts, batch_size=32, show_progress_bar=False)
                times.append(time.perf_counter() - started)
            rates[size] = len(texts) / min(times)
    print(json.dumps(rates))


def _model(folder: Path) -> SentenceTransformer:
    config = RobertaConfig(
        vocab_size=50265,
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        max_position_embeddings=514,
        type_vocab_size=2,
        pad_token_id=1,
    )
    RobertaModel(config).save_pretrained(folder)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(BOX / "tokenizer.json"), model_max_length=512, **SPECIAL
    )
    tokenizer.save_pretrained(folder)
    transformer = Transformer(str(folder), max_seq_length=512)
    return SentenceTransformer(modules=[transformer, Pooling(384, "cls"), Normalize()])


if __name__ == "__main__":
    main()
