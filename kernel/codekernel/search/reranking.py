"""Let the selected reranker read the best chunk of each of the first files."""

from collections.abc import Callable, Sequence

from codekernel.domain.index import build_embedding_text
from codekernel.search.query_parser import Query
from codekernel.search.ranking import (
    EVIDENCE_FACTOR_OF_UNNAMED,
    RankedChunk,
    add_evidence,
    select_for_reranker,
)
from codekernel.search.retrieval import CandidateCatalog

# Returns the evidence that each text answers a query (ranking.py), as what it adds to the logarithm
# of a score; empty if no reranker is selected or usable.
RerankFunction = Callable[[str, Sequence[str]], Sequence[float]]


def rerank_first_files(
    catalog: CandidateCatalog,
    query: Query,
    ranked: Sequence[RankedChunk],
    rerank: RerankFunction,
    *,
    is_unnamed: bool,
) -> Sequence[RankedChunk]:
    """Return the order with what a reranker says of the chunks, with their paths.

    ``is_unnamed``: no file is named after the query.
    """
    read = select_for_reranker(ranked)
    if len(read) <= 1:
        return ranked
    contents = catalog.read_chunk_texts([each.chunk.id for each in read])
    texts = [
        f"{chunk.path}\n{build_embedding_text(chunk.symbols, contents.get(chunk.id, ''))}"
        for chunk, _, _ in read
    ]
    factor = EVIDENCE_FACTOR_OF_UNNAMED if is_unnamed else 1.0
    evidence = [factor * each for each in rerank(query.semantic_query, texts)]
    return add_evidence(ranked, read, evidence) if evidence else ranked
