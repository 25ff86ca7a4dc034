"""What a remote model adds to a vector index: consent, waiting for an endpoint that is away.

A vector index without its endpoint stands still, and says why; the rest of the index goes on.
"""

import logging
import time
from collections.abc import Callable
from pathlib import Path

from codekernel.domain.index import EndpointAsk
from codekernel.errors import NetworkError
from codekernel.remote.consents import Consent, ConsentKey, ConsentRegister
from codekernel.remote.embedding_answer import FloatArray
from codekernel.remote.remote_embedder import RemoteEmbedder, RemoteModelChanged

logger = logging.getLogger(__name__)

# An endpoint that is away is tried again after so long, and each time after twice as long.
MIN_RETRY_SECONDS, MAX_RETRY_SECONDS = 2.0, 60.0

# How often a consent that another process has kept is looked for.
CONSENT_RETRY_SECONDS = 30.0

# Code in the tokenizers of embedding models; within 20 % for the languages of the benchmark.
CHARS_PER_TOKEN = 3.2

# Symbols that are sent with a chunk.
EXTRA_CHARS_PER_CHUNK = 30

# Counting a million chunks takes a second.
ASK_INTERVAL_SECONDS = 2.0


class ConsentMissing(NetworkError):
    """Nobody has allowed yet that this repository is sent to this endpoint."""


class RemoteIndexing:
    """One repository and one remote model; used by the embed thread, read by any."""

    def __init__(self, root: Path, embedder: RemoteEmbedder, consents: ConsentRegister) -> None:
        self.embedder = embedder
        # Why nothing is embedded at the moment.
        self.problem = ""
        self.is_outdated = False
        self.retry_at: float | None = None
        self._key = ConsentKey.of(root, embedder.model, embedder.fingerprint)
        self._consents = consents
        self._retry_seconds = MIN_RETRY_SECONDS
        self._ask: EndpointAsk | None = None
        self._asked_at = 0.0

    @property
    def consent(self) -> Consent:
        """Whether the repository may be sent to the endpoint."""
        return self._consents.get(self._key)

    @property
    def can_embed(self) -> bool:
        """Whether the endpoint is to be tried now."""
        return self.retry_at is None or time.monotonic() >= self.retry_at

    def answer(self, *, allowed: bool) -> None:
        """Keep what a person said. Raises StorageError."""
        self._consents.set(self._key, allowed=allowed)
        self.retry_at = None

    def require_consent(self) -> None:
        """Raise ConsentMissing unless texts may be sent."""
        name, consent = self.embedder.model.name, self.consent
        if consent is Consent.DENIED:
            raise ConsentMissing(
                f"this repository is not sent to {self.embedder.host}, as you said;"
                f" codekernel models allow {name} changes that"
            )
        if consent is Consent.NOT_ASKED:
            raise ConsentMissing(
                f"it waits for your permission to send this repository to {self.embedder.host}:"
                f" codekernel models allow {name}"
            )

    def postpone(self, error: NetworkError) -> None:
        """Stand still for a while."""
        if str(error) != self.problem:
            logger.warning("embedding by %s waits: %s", self.embedder.model.name, error)
        self.problem = str(error)
        if isinstance(error, ConsentMissing):
            self.retry_at = time.monotonic() + CONSENT_RETRY_SECONDS
            return
        self.retry_at = time.monotonic() + self._retry_seconds
        self._retry_seconds = min(2 * self._retry_seconds, MAX_RETRY_SECONDS)

    def notice_success(self) -> None:
        """Forget what was in the way."""
        if self.problem:
            logger.info("embedding by %s continues", self.embedder.model.name)
        self.problem, self.retry_at, self._retry_seconds = "", None, MIN_RETRY_SECONDS

    def is_change_of_model(self, error: BaseException) -> bool:
        """Whether an error means that another model is served; its index is then opened anew."""
        if not isinstance(error, RemoteModelChanged):
            return False
        logger.warning("%s; its vectors are made again", error)
        self.is_outdated = True
        return True

    def embed_query(self, query: str) -> FloatArray | None:
        """Return the vector of a query; None if the endpoint is away, or may not be asked."""
        if self.is_outdated or self.consent is not Consent.ALLOWED:
            return None
        try:
            return self.embedder.embed_query(query)
        except RemoteModelChanged as error:
            self.is_change_of_model(error)
        except NetworkError as error:
            logger.info("a query is answered without %s: %s", self.embedder.model.name, error)
        return None

    def describe_ask(self, count_missing: Callable[[], tuple[int, int]]) -> EndpointAsk | None:
        """Return what would be sent, if a person has not been asked yet."""
        if self.consent is not Consent.NOT_ASKED:
            return None
        if self._ask is None or time.monotonic() - self._asked_at > ASK_INTERVAL_SECONDS:
            model, (chunks, chars) = self.embedder.model, count_missing()
            chars += chunks * EXTRA_CHARS_PER_CHUNK
            tokens = round(chars / CHARS_PER_TOKEN)
            price = model.input_price
            self._ask = EndpointAsk(
                model=model.name,
                endpoint=self.embedder.host,
                chunks=chunks,
                size_bytes=chars,
                tokens=tokens,
                cost=None if price is None else tokens * price / 1_000_000,
            )
            self._asked_at = time.monotonic()
        return self._ask
