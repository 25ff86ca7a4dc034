"""A reranker behind an address: ``/rerank`` of Jina, Cohere, vLLM, Infinity, llama.cpp and TEI."""

import math
from collections.abc import Sequence
from typing import Any

from codekernel.domain.settings import RemoteModel
from codekernel.llm.http_request import EndpointResponse
from codekernel.llm.model_endpoint import ModelEndpoint
from codekernel.masking.masker import mask_secrets

RERANK_PATH = "/rerank"

# A person waits; the model on this machine answers instead.
RERANK_TIMEOUT_SECONDS = 3.0

_OK = 200

# TEI calls the documents texts, and answers with a list.
_DOCUMENTS, _TEXTS = "documents", "texts"

_MAX_LOGIT = 60.0


class RemoteReranker:
    """Scores texts for a query; raises NetworkError when the endpoint is away."""

    def __init__(
        self,
        model: RemoteModel,
        endpoint: ModelEndpoint,
        timeout_seconds: float = RERANK_TIMEOUT_SECONDS,
    ) -> None:
        self.model = model
        self.host = endpoint.host
        self._endpoint = endpoint
        self._timeout_seconds = timeout_seconds
        self._field = _DOCUMENTS

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers the query, 0..1. Raises NetworkError."""
        response = self._post(query, texts)
        if response.status in {400, 422} and _TEXTS in response.text and self._field != _TEXTS:
            self._field = _TEXTS
            response = self._post(query, texts)
        if response.status != _OK:
            raise self._endpoint.explain_status(response)
        scores = _parse_scores(response.json(), len(texts))
        if scores is None:
            raise self._endpoint.explain_body(
                response, "did not answer with a score for each text: check the url"
            )
        # Some servers answer with logits.
        is_probability = all(0.0 <= score <= 1.0 for score in scores)
        return scores if is_probability else [_compute_sigmoid(score) for score in scores]

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def _post(self, query: str, texts: Sequence[str]) -> EndpointResponse:
        payload: dict[str, object] = {
            "model": self.model.model_name,
            "query": mask_secrets(query).text,
            self._field: [mask_secrets(text).text for text in texts],
        }
        return self._endpoint.post_urgent(payload, self._timeout_seconds)


def _parse_scores(answer: Any, count: int) -> list[float] | None:
    entries = answer.get("results") if isinstance(answer, dict) else answer
    if not isinstance(entries, list) or len(entries) != count:
        return None
    scores: dict[int, float] = {}
    for each in entries:
        if not isinstance(each, dict):
            return None
        place, score = each.get("index"), each.get("relevance_score", each.get("score"))
        if isinstance(place, int) and isinstance(score, int | float) and math.isfinite(score):
            scores[place] = float(score)
    return [scores[place] for place in range(count)] if scores.keys() == {*range(count)} else None


def _compute_sigmoid(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(logit, -_MAX_LOGIT), _MAX_LOGIT)))
