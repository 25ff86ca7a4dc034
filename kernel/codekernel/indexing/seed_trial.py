"""Vectors that came from elsewhere are tried: some of their texts are embedded here, too.

What a team mate sent is proved to be from a team mate; a machine whose accelerator or libraries
compute something else would still spoil every answer.
"""

import logging

import numpy as np

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import build_embedding_text
from codekernel.inference.model_pool import Embedder
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.vectors.vector_table import VectorTable

logger = logging.getLogger(__name__)

TRIED_TEXTS = 8

# Between accelerators, and in float16, cosines differ in the third digit.
MIN_COSINE = 0.98

# Texts may be so alike that another one is as near.
_NEAREST = 10


def are_vectors_true(
    table: VectorTable, embedder: Embedder, catalog: Catalog, max_chunk_chars: int
) -> bool:
    """Return whether this machine embeds some texts as whoever made the table."""
    _, keys = catalog.read_chunk_keys(max_chunk_chars)
    known = np.setdiff1d(np.asarray(keys, np.int64), table.find_missing(keys))
    tried = known[:: max(1, len(known) // TRIED_TEXTS)].tolist()
    chunks = [found[0] for found in catalog.find_chunks_by_key(tried).values()]
    texts = catalog.read_chunk_texts([chunk.id for chunk in chunks])
    documents = [build_embedding_text(chunk.symbols, texts[chunk.id]) for chunk in chunks]
    vectors = embedder.embed_documents(documents, CancelToken()) if documents else ()
    for chunk, vector in zip(chunks, vectors, strict=True):
        found, cosines = table.search(vector, _NEAREST)
        if not ((found == chunk.text_hash) & (cosines >= MIN_COSINE)).any():
            return False
    return True
