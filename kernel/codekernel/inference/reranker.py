"""Score query and text pairs with a loaded cross-encoder."""

from collections.abc import Sequence

import numpy as np

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import InvalidModel
from codekernel.inference.batching import ThreadBudget, plan_batches
from codekernel.inference.model_folder import ModelFolder
from codekernel.inference.model_outputs import FloatArray, select_score_output
from codekernel.inference.model_session import LoadedModel
from codekernel.inference.tokenizer import EncodedText

_BINARY_LOGITS = 2


class Reranker(LoadedModel):
    """A loaded cross-encoder."""

    def __init__(
        self, folder: ModelFolder, providers: Sequence[str], thread_budget: ThreadBudget
    ) -> None:
        super().__init__(folder, providers, thread_budget)
        self._output = select_score_output(self._session.output_shapes, folder)
        self._compute_scores(self._tokenizer.encode_pairs([("probe", "probe")]))

    def score(self, query: str, texts: Sequence[str], cancel: CancelToken) -> list[float]:
        """Return how well each text answers the query, 0..1; runs before bulk work."""
        tokens = self._tokenizer.encode_pairs([(query, text) for text in texts])
        scores = np.zeros(len(texts), np.float32)
        lengths = [len(pair.ids) for pair in tokens]

        def run(rows: list[int]) -> None:
            scores[rows] = self._compute_scores([tokens[row] for row in rows])

        batches = plan_batches(lengths, batch_size_tokens=self.folder.batch_size_tokens)
        self._runner.run_batches(batches, run, cancel, urgent=True)
        return [float(score) for score in np.nan_to_num(scores, nan=0.0)]

    def _compute_scores(self, pairs: list[EncodedText]) -> FloatArray:
        found, _ = self._run(pairs, self._output)
        logits = found.reshape(len(pairs), -1)
        if logits.shape[1] == _BINARY_LOGITS:
            logits = logits[:, 1:] - logits[:, :1]
        if logits.shape[1] != 1:
            raise InvalidModel(
                f"{self.folder.onnx_file} gives {logits.shape[1]} numbers per text; "
                "a reranker gives one, or two for no and yes"
            )
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits[:, 0], -60.0, 60.0))), np.float32)
