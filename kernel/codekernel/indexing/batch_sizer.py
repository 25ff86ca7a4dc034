"""How many texts are embedded at once, by the measured speed of a model."""

from codekernel.indexing.index_plan import BatchSizes

# How fast the batch may grow while the speed of a model is still being measured.
MAX_BATCH_GROWTH = 8

# If no larger share of a batch had to be embedded, the next one is larger.
MAX_MISSING_SHARE = 0.1

# What the newest batch weighs in the speed that is reported.
NEWEST_WEIGHT = 0.3


class BatchSizer:
    """The size of the next batch of one model; used by one thread."""

    def __init__(self, limits: BatchSizes) -> None:
        self._limits = limits
        self.embedded_texts = self._looked_up_texts = limits.initial
        self.chunks_per_second: float | None = None

    @property
    def read_texts(self) -> int:
        """How many texts to read for the next batch, of which some may have vectors already."""
        return max(self.embedded_texts, self._looked_up_texts)

    def record_lookup(self, asked: int, missing: int) -> None:
        """Record how many of the texts that were looked up had no vector.

        Finding takes a fraction of the time of embedding: then more is looked up at once.
        """
        is_found = missing <= asked * MAX_MISSING_SHARE
        self._looked_up_texts = (
            min(self._limits.largest, asked * MAX_BATCH_GROWTH) if is_found else 0
        )

    def record_embedding(self, texts: int, seconds: float) -> None:
        """Record how long a batch took; the next one takes as long as the limits say."""
        rate = texts / max(seconds, 1e-6)
        known = self.chunks_per_second
        self.chunks_per_second = (
            rate if known is None else (1 - NEWEST_WEIGHT) * known + NEWEST_WEIGHT * rate
        )
        size = min(int(rate * self._limits.target_seconds), self.embedded_texts * MAX_BATCH_GROWTH)
        self.embedded_texts = max(self._limits.smallest, min(self._limits.largest, size))
