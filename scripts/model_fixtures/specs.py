"""The list of fixtures: one line per folder, with its network, tokenizer and layout."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODELS = Path(__file__).parents[2] / "tests" / "fixtures" / "models"
HIDDEN = 32
VOCABULARY = 420
UNLIMITED = 1000000000000000019884624838656  # what transformers writes when it knows no limit


@dataclass(frozen=True)
class Spec:
    """One folder: which network, which tokenizer, which layout."""

    name: str
    network: str
    tokenizer: str
    kind: str = "embedding"
    pooling: str = "mean"
    normalize: bool = True
    prompts: dict[str, str] | None = None
    max_tokens: int = 64
    positions: int = 64
    model_max_length: int = 64
    file: str = "onnx/model.onnx"
    outputs: tuple[str, ...] = ("last_hidden_state",)
    external_data: bool = False
    layout: str = "sentence-transformers"  # or: sentence-transformers-6, bare
    left_out: tuple[str, ...] = ()


BERT: dict[str, Any] = {"network": "bert", "tokenizer": "wordpiece"}
XLMR: dict[str, Any] = {"network": "xlm-roberta", "tokenizer": "unigram"}
BGE_M3 = ("token_embeddings", "sentence_embedding")
REPRESENT = "Represent this sentence for searching relevant passages: "
INSTRUCT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)
SIDE_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")

SPECS = [
    Spec("bge-m3", **XLMR, pooling="cls", outputs=BGE_M3, external_data=True),
    Spec(
        "bge-m3-pocketrag",
        **XLMR,
        pooling="cls",
        outputs=BGE_M3,
        external_data=True,
        file="model.onnx",
        layout="bare",
        left_out=SIDE_FILES,
    ),
    Spec("all-MiniLM-L6-v2", **BERT, max_tokens=256, positions=512, model_max_length=512),
    Spec("granite-embedding", "roberta", "byte-bpe", pooling="cls", file="model.onnx"),
    Spec("ms-marco-MiniLM", **BERT, kind="rerank", layout="bare"),
    Spec("bge-small-en", **BERT, pooling="cls", file="model.onnx"),
    Spec("gte-small", **BERT, normalize=False, model_max_length=UNLIMITED),
    Spec("e5-small", **BERT, prompts={"query": "query: ", "document": "passage: "}),
    Spec(
        "multilingual-e5",
        "xlm-roberta",
        "unigram-by-words",
        prompts={"query": "query: ", "document": "passage: "},
    ),
    Spec("jina-embeddings-v2", **BERT, normalize=False, model_max_length=2147483648),
    Spec(
        "nomic-embed-text-v1.5",
        "nomic_bert",
        "wordpiece",
        normalize=False,
        prompts={"query": "search_query: ", "document": "search_document: "},
    ),
    Spec("snowflake-arctic-embed", **BERT, pooling="cls", prompts={"query": REPRESENT}),
    Spec(
        "qwen3-embedding",
        "qwen3",
        "qwen-bpe",
        pooling="lasttoken",
        prompts={"query": INSTRUCT, "document": ""},
        model_max_length=131072,
    ),
    Spec(
        "sentence-embedding-only",
        **BERT,
        outputs=("sentence_embedding",),
        file="model.onnx",
        layout="bare",
    ),
    Spec(
        "sentence-transformers-6",
        "bert",
        "wordpiece-cased",
        pooling="cls",
        layout="sentence-transformers-6",
        prompts={"query": "query: ", "document": ""},
        max_tokens=48,
        model_max_length=48,
        left_out=("special_tokens_map.json", "vocab.txt"),
    ),
    Spec("bge-reranker-v2-m3", **XLMR, kind="rerank", layout="bare"),
    Spec("bge-reranker-base", "xlm-roberta", "unigram-by-words", kind="rerank", layout="bare"),
    Spec(
        "jina-reranker",
        **XLMR,
        kind="rerank",
        layout="bare",
        left_out=("sentencepiece.bpe.model",),
    ),
]
