"""The torch models: well-known architectures around random weights."""

import zlib
from typing import Any

import torch
import transformers
from specs import HIDDEN, Spec

NETWORKS: dict[str, tuple[str, int, dict[str, Any]]] = {  # class prefix, pads before 0, more
    "bert": ("Bert", 0, {"pad_token_id": 0}),
    "nomic_bert": ("NomicBert", 0, {"pad_token_id": 0}),
    "roberta": ("Roberta", 2, {"pad_token_id": 1, "type_vocab_size": 1}),
    "xlm-roberta": ("XLMRoberta", 2, {"pad_token_id": 1, "type_vocab_size": 1}),
    "qwen3": ("Qwen3", 0, {"num_key_value_heads": 2, "head_dim": 8, "use_cache": False}),
}


def network(spec: Spec, vocabulary: int) -> Any:
    """The torch model, with every weight random and large enough for texts to differ."""
    prefix, offset, more = NETWORKS[spec.network]
    if spec.kind == "rerank":
        more = {**more, "num_labels": 1, "id2label": {0: "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    config = getattr(transformers, f"{prefix}Config")(
        vocab_size=vocabulary,
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=2 * HIDDEN,
        max_position_embeddings=spec.positions + offset,
        attn_implementation="eager",
        **more,
    )
    head = "ForSequenceClassification" if spec.kind == "rerank" else "Model"
    torch.manual_seed(zlib.crc32(spec.name.encode()))
    model = getattr(transformers, f"{prefix}{head}")(config)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            spread = 0.5 if "embeddings" in name or "embed_tokens" in name else 0.2
            weights.normal_(0.0, spread)
            if "norm" in name.lower() and name.endswith("weight"):
                weights.mul_(0.5).add_(1.0)
    return model.eval()
