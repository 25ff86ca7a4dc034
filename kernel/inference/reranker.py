"""A model folder that says how well texts answer a query."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kernel.domain.cancel import CancelToken
from kernel.errors import InvalidModel
from kernel.inference.batches import plan
from kernel.inference.model_folder import ModelFolder
from kernel.inference.outputs import score_output
from kernel.inference.session import ModelSession, TokenBatch
from kernel.inference.tokens import Tokenization, Tokens
from kernel.inference.workers import Cores, Workers

Floats = npt.NDArray[np.float32]

_YES_AND_NO = 2


class Reranker:
    """A loaded cross-encoder; any number of threads may use it."""

    def __init__(self, folder: ModelFolder, providers: Sequence[str], cores: Cores) -> None:
        self.folder = folder
        self._tokenization = Tokenization(folder)
        self._session = ModelSession(folder.onnx_file, providers)
        self._output = score_output(self._session.outputs, folder)
        self._scores(self._tokenization.encode_pairs([("probe", "probe")]))
        self._workers = Workers(Cores.of(1) if self._session.on_accelerator else cores)

    def score(self, query: str, texts: Sequence[str], cancel: CancelToken) -> list[float]:
        """How well each text answers, 0..1; a person waits, so bulk work waits too."""
        tokens = self._tokenization.encode_pairs([(query, text) for text in texts])
        scores = np.zeros(len(texts), np.float32)
        lengths = [len(pair.ids) for pair in tokens]

        def run(rows: list[int]) -> None:
            scores[rows] = self._scores([tokens[row] for row in rows])

        batches = plan(lengths, tokens_per_batch=self.folder.tokens_per_batch)
        self._workers.run_all(batches, run, cancel, urgent=True)
        return [float(score) for score in np.nan_to_num(scores, nan=0.0)]

    def close(self) -> None:
        """Let the model go; whoever still uses it finishes first."""
        self._workers.close()

    def _scores(self, pairs: list[Tokens]) -> Floats:
        batch = TokenBatch.of(
            [pair.ids for pair in pairs],
            [pair.types for pair in pairs],
            self._tokenization.pad_id,
        )
        logits = self._session.run(batch, self._output).reshape(len(pairs), -1)
        if logits.shape[1] == _YES_AND_NO:
            logits = logits[:, 1:] - logits[:, :1]
        if logits.shape[1] != 1:
            raise InvalidModel(
                f"{self.folder.onnx_file} gives {logits.shape[1]} numbers per text; "
                "a reranker gives one, or two for no and yes"
            )
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits[:, 0], -60.0, 60.0))), np.float32)
