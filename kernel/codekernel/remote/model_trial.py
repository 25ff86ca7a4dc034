"""Try a remote model with texts of our own: whether it answers, how fast, and what it is."""

import time

from codekernel.domain.settings import LocalModel, ModelKind
from codekernel.errors import InvalidModel, NetworkError
from codekernel.remote.identity import PROBE_TEXTS
from codekernel.remote.remote_models import RemoteModels

_QUERY = "how is a header parsed"


def try_model(models: RemoteModels, model: LocalModel) -> str:
    """Return a few words on a model that works. Raises NetworkError, InvalidModel."""
    remote = model.remote
    if remote is None:
        raise InvalidModel("it is not remote")
    if model.kind is ModelKind.RERANK:
        with models.acquire_reranker(remote) as reranker:
            started = time.monotonic()
            reranker.score(_QUERY, PROBE_TEXTS)
            return f"{reranker.host} scores texts, in {_format_ms(started)}"
    with models.acquire_embedder(remote) as embedder:
        if not embedder.was_reached:
            raise NetworkError(f"{embedder.host} does not answer at the moment")
        started = time.monotonic()
        embedder.embed_query(_QUERY)
        took = _format_ms(started)
        return (
            f"{embedder.host} answers a query in {took}, {embedder.dimensions} dimensions,"
            f" model {embedder.fingerprint[:16]}"
        )


def _format_ms(started: float) -> str:
    return f"{(time.monotonic() - started) * 1000:.0f} ms"
