"""An embedding model behind an address: batches, several requests at once, secrets masked.

Every few minutes, and after the endpoint was away, the probe texts go along with a request, so that
another model under the same name is noticed before its vectors are mixed with those there are.
"""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack

import numpy as np

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import RemoteModel
from codekernel.errors import Cancelled, InvalidModel, NetworkError
from codekernel.inference.model_folder import find_family_prefixes
from codekernel.llm.http_request import EndpointResponse
from codekernel.llm.model_endpoint import ModelEndpoint
from codekernel.masking.masker import mask_secrets
from codekernel.remote.embedding_answer import FloatArray, InvalidAnswer, parse_vectors
from codekernel.remote.identity import PROBE_TEXTS, IdentityStore, ModelIdentity

EMBEDDINGS_PATH = "/embeddings"

# A person waits: what takes longer is answered by the model on this machine.
QUERY_TIMEOUT_SECONDS = 1.0

# After a failure queries do not try so soon again.
QUERY_PAUSE_SECONDS = 10.0

PROBE_TIMEOUT_SECONDS = 30.0

# How long an identity that was checked is trusted.
IDENTITY_SECONDS = 300.0

MAX_CACHED_QUERIES = 256

# A text that no server takes is shortened down to this many characters.
MIN_TEXT_CHARS = 200

_OK, _TOO_LARGE, _SERVER_ERROR = 200, 413, 500

# What servers say when a batch or a text is too large: TEI, vLLM, llama.cpp, Infinity, OpenAI.
_SIZE_PATTERN = re.compile(
    r"too (large|long|many|big)|batch size|max\w* (context|length|input|tokens)|exceed|longer than",
    re.IGNORECASE,
)

_FORMAT_PATTERN = re.compile(r"encoding_format|base64", re.IGNORECASE)


class RemoteModelChanged(InvalidModel):
    """The endpoint serves another model than before; its vectors cannot be compared."""


class RemoteEmbedder:
    """An ``Embedder`` whose model is elsewhere. Its methods raise NetworkError, too."""

    def __init__(
        self,
        model: RemoteModel,
        endpoint: ModelEndpoint,
        identities: IdentityStore,
        *,
        query_timeout_seconds: float = QUERY_TIMEOUT_SECONDS,
    ) -> None:
        """Ask the endpoint which model it serves; the one seen last stands in while it is away.

        Raises NetworkError if it is away and was never seen.
        """
        self.model = model
        self.host = endpoint.host
        query, document = find_family_prefixes(model.model_name)
        self._query_prefix = query if model.query_prefix is None else model.query_prefix
        self._document_prefix = document if model.document_prefix is None else model.document_prefix
        self._endpoint = endpoint
        self._identities = identities
        self._query_timeout_seconds = query_timeout_seconds
        self._wants_base64 = True
        self._batch_size = model.batch_size
        self._pool = ThreadPoolExecutor(model.concurrency, thread_name_prefix="remote")
        self._checked_at: float | None = None
        self._lock = threading.Lock()
        self._query_vectors: OrderedDict[str, FloatArray] = OrderedDict()
        self._queries_pause_until = 0.0
        self._query_problem = ""
        with ExitStack() as opening:
            opening.callback(self.close)
            self.identity = self._identify()
            opening.pop_all()

    @property
    def was_reached(self) -> bool:
        """Whether the endpoint itself has said which model it serves, lately."""
        return self._checked_at is not None

    @property
    def fingerprint(self) -> str:
        """Name the model that is served."""
        return self.identity.fingerprint

    @property
    def dimensions(self) -> int:
        """Return the length of its vectors."""
        return self.identity.dimensions

    def embed_documents(self, texts: Sequence[str], cancel: CancelToken) -> FloatArray:
        """Return one vector per text, in the same order.

        Raises Cancelled, NetworkError, RemoteModelChanged.
        """
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        # Longest first: servers pad the texts of a request to the longest of them.
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        size = self._batch_size
        batches = [order[start : start + size] for start in range(0, len(order), size)]
        parts = cancel.create_child()

        def run(rows: list[int]) -> None:
            # Masked here, while the server works at other requests: 100 us of CPU a chunk.
            masked = [self._document_prefix + mask_secrets(texts[row]).text for row in rows]
            vectors[rows] = self._embed_checked(masked, parts)

        self._run_all([self._pool.submit(run, rows) for rows in batches], parts, cancel)
        self._queries_pause_until = 0.0  # it is there
        return vectors

    def embed_query(self, text: str) -> FloatArray:
        """Return the vector of a query before the deadline, or raise NetworkError."""
        asked = self._query_prefix + mask_secrets(text).text
        with self._lock:
            if (known := self._query_vectors.get(asked)) is not None:
                self._query_vectors.move_to_end(asked)
                return known
        if time.monotonic() < self._queries_pause_until:
            raise NetworkError(self._query_problem)
        try:
            vector: FloatArray = self._embed_urgent([asked], self._query_timeout_seconds)[0]
        except NetworkError as error:
            self._query_problem = str(error)
            self._queries_pause_until = time.monotonic() + QUERY_PAUSE_SECONDS
            self._checked_at = None
            raise
        with self._lock:
            self._query_vectors[asked] = vector
            while len(self._query_vectors) > MAX_CACHED_QUERIES:
                self._query_vectors.popitem(last=False)
        return vector

    def compute_cosines(self, query: str, texts: Sequence[str], cancel: CancelToken) -> list[float]:
        """Return the cosine of each text and the query. Raises as ``embed_documents``."""
        cosines: list[float] = (
            self.embed_documents(texts, cancel) @ self.embed_query(query)
        ).tolist()
        return cosines

    def close(self) -> None:
        """Close the connections once running requests are done."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._endpoint.close()

    def _identify(self) -> ModelIdentity:
        try:
            response = self._endpoint.post_urgent(
                self._build_payload(PROBE_TEXTS), PROBE_TIMEOUT_SECONDS
            )
            if response.status != _OK and self._learn_format(response):
                response = self._endpoint.post_urgent(
                    self._build_payload(PROBE_TEXTS), PROBE_TIMEOUT_SECONDS
                )
            probes = self._read_vectors(response, len(PROBE_TEXTS))
        except NetworkError:
            known = self._identities.find(self.model)
            if known is None:
                raise
            return known
        self._checked_at = time.monotonic()
        return self._identities.identify(self.model, probes)

    def _run_all(
        self, running: Sequence["Future[None]"], parts: CancelToken, cancel: CancelToken
    ) -> None:
        """Wait for all requests; the first failure ends the others."""
        wait(running, return_when=FIRST_EXCEPTION)
        failures = [error for each in running if each.done() and (error := each.exception())]
        if failures:
            parts.cancel()
            wait(running)
        failure = failures[0] if failures else None
        if cancel.is_cancelled:
            raise Cancelled("the model's work was cancelled")
        if failure:
            if isinstance(failure, NetworkError):
                self._checked_at = None
            raise failure

    def _is_check_due(self) -> bool:
        checked = self._checked_at
        return checked is None or time.monotonic() - checked > IDENTITY_SECONDS

    def _embed_checked(self, texts: Sequence[str], cancel: CancelToken) -> FloatArray:
        """Embed texts, and now and then the probes with them. Raises RemoteModelChanged."""
        if cancel.is_cancelled:
            raise Cancelled("the model's work was cancelled")
        with self._lock:
            is_due = self._is_check_due()
            if is_due:
                self._checked_at = time.monotonic()  # by one request
        if not is_due:
            return self._embed(texts, cancel)
        self._check_identity(self._embed(PROBE_TEXTS, cancel))
        return self._embed(texts, cancel)

    def _embed_urgent(self, texts: Sequence[str], timeout_seconds: float) -> FloatArray:
        is_due = self._is_check_due()
        asked = [*texts, *PROBE_TEXTS] if is_due else texts
        response = self._endpoint.post_urgent(self._build_payload(asked), timeout_seconds)
        if response.status != _OK:
            self._learn_format(response)  # for the next one
        vectors = self._read_vectors(response, len(asked))
        if is_due:
            self._check_identity(vectors[len(texts) :])
            self._checked_at = time.monotonic()
        self._check_dimensions(vectors)
        return vectors[: len(texts)]

    def _check_identity(self, probes: FloatArray) -> None:
        if not self.identity.matches(probes):
            raise RemoteModelChanged(
                f"{self.host} serves another model as {self.model.model_name} than before"
            )

    def _check_dimensions(self, vectors: FloatArray) -> None:
        if vectors.shape[1] != self.dimensions:
            raise RemoteModelChanged(
                f"{self.host} answers with vectors of {vectors.shape[1]} dimensions as"
                f" {self.model.model_name}, and with {self.dimensions} before"
            )

    def _embed(self, texts: Sequence[str], cancel: CancelToken) -> FloatArray:
        """Embed texts in one request, or in as many as the server's limits ask for."""
        response = self._endpoint.post(self._build_payload(texts), cancel)
        if response.status == _OK:
            vectors = self._read_vectors(response, len(texts))
            self._check_dimensions(vectors)
            return vectors
        if self._learn_format(response):
            return self._embed(texts, cancel)
        if not _is_too_large(response):
            raise self._endpoint.explain_status(response)
        if len(texts) > 1:
            half = len(texts) // 2
            vectors = np.vstack(
                [self._embed(texts[:half], cancel), self._embed(texts[half:], cancel)]
            )
            self._batch_size = min(self._batch_size, max(1, half))
            return vectors
        if len(texts[0]) <= MIN_TEXT_CHARS:
            raise self._endpoint.explain_status(response)
        return self._embed([texts[0][: len(texts[0]) // 2]], cancel)

    def _build_payload(self, texts: Sequence[str]) -> dict[str, object]:
        payload: dict[str, object] = {"model": self.model.model_name, "input": list(texts)}
        return payload | {"encoding_format": "base64"} if self._wants_base64 else payload

    def _learn_format(self, response: EndpointResponse) -> bool:
        """Ask for numbers from now on, if base64 is what the endpoint refused."""
        is_refused = self._wants_base64 and bool(_FORMAT_PATTERN.search(response.text[:4000]))
        if is_refused:
            self._wants_base64 = False
        return is_refused

    def _read_vectors(self, response: EndpointResponse, count: int) -> FloatArray:
        if response.status != _OK:
            raise self._endpoint.explain_status(response)
        try:
            return parse_vectors(response.json(), count)
        except InvalidAnswer as error:
            raise self._endpoint.explain_body(response, str(error)) from None


def _is_too_large(response: EndpointResponse) -> bool:
    if response.status == _TOO_LARGE:
        return True
    is_refusal = response.status in {400, 422, _SERVER_ERROR}
    return is_refusal and bool(_SIZE_PATTERN.search(response.text[:4000]))
