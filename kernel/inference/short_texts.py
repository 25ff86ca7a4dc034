"""Vectors of short texts that are met again and again, such as the words of paths."""

from collections.abc import Sequence

import numpy as np

from kernel.inference.embedder import Embedder, Floats

TEXTS_REMEMBERED = 8_192  # of 256 dimensions: 8 MB


class ShortTexts:
    """What a quick model says of short texts; any number of threads may ask."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Floats] = {}

    def likeness(self, query: str, texts: Sequence[str]) -> list[float]:
        """The cosine of each text and the query; nothing if the model is not quick."""
        if not self._embedder.is_quick or not texts:
            return []
        known = self._known
        unknown = [text for text in dict.fromkeys(texts) if text not in known]
        if unknown:
            if len(known) + len(unknown) > TEXTS_REMEMBERED:
                known = {text: known[text] for text in texts if text in known}
            known = known | dict(zip(unknown, self._embedder.embed_now(unknown), strict=True))
            self._known = known
        vectors = np.stack([known[text] for text in texts])
        cosines: list[float] = (vectors @ self._embedder.embed_query(query)).tolist()
        return cosines
