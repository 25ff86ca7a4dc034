"""Models of every family in their hub layouts, against what torch and transformers computed.

The weights are random and small; tests/fixtures/README.md says how they were made.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Performance
from codekernel.inference.model_folder import read_model_folder
from codekernel.inference.model_pool import ModelPool

MODELS = Path(__file__).parents[1] / "fixtures" / "models"
TOLERANCE = 1e-4


def folders(kind: str) -> list[Path]:
    found = [path.parent for path in sorted(MODELS.glob("*/expected.json"))]
    return [folder for folder in found if expected(folder)["kind"] == kind]


def expected(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize("folder", folders("embedding"), ids=lambda path: path.name)
def test_documents_and_queries_have_the_reference_vectors(folder: Path) -> None:
    known = expected(folder)
    with ModelPool().acquire_embedder(folder, Performance()) as embedder:
        together = embedder.embed_documents(known["texts"], CancelToken())
        alone = [embedder.embed_documents([text], CancelToken())[0] for text in known["texts"]]
        queries = [embedder.embed_query(text) for text in known["texts"]]
        assert embedder.dimensions == len(known["documents"][0])
    assert np.abs(together - np.array(known["documents"])).max() <= TOLERANCE
    assert np.abs(np.array(alone) - np.array(known["documents"])).max() <= TOLERANCE
    assert np.abs(np.array(queries) - np.array(known["queries"])).max() <= TOLERANCE


@pytest.mark.parametrize("folder", folders("embedding"), ids=lambda path: path.name)
def test_the_folder_is_understood(folder: Path) -> None:
    known = expected(folder)
    read = read_model_folder(folder)
    assert read.max_tokens == known["maxTokens"]
    assert read.normalize == known["normalize"]
    assert (read.query_prefix, read.document_prefix) == (
        known["queryPrefix"],
        known["documentPrefix"],
    )


@pytest.mark.parametrize("folder", folders("rerank"), ids=lambda path: path.name)
def test_pairs_have_the_reference_scores(folder: Path) -> None:
    known = expected(folder)
    with ModelPool().acquire_reranker(folder, Performance()) as reranker:
        scores = [reranker.score(query, [text], CancelToken())[0] for query, text in known["pairs"]]
        query = known["pairs"][0][0]
        texts = [text for _, text in known["pairs"]]
        together = reranker.score(query, texts, CancelToken())
        one_by_one = [reranker.score(query, [text], CancelToken())[0] for text in texts]
    assert np.abs(np.array(scores) - np.array(known["scores"])).max() <= TOLERANCE
    assert np.abs(np.array(together) - np.array(one_by_one)).max() <= TOLERANCE


def test_every_family_is_there() -> None:
    names = {folder.name for folder in folders("embedding") + folders("rerank")}
    assert names >= {
        "all-MiniLM-L6-v2",
        "bge-m3",
        "bge-m3-pocketrag",
        "bge-reranker-base",
        "bge-reranker-v2-m3",
        "bge-small-en",
        "e5-small",
        "granite-embedding",
        "gte-small",
        "jina-embeddings-v2",
        "jina-reranker",
        "ms-marco-MiniLM",
        "nomic-embed-text-v1.5",
        "snowflake-arctic-embed",
    }
