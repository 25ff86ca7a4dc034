"""Score query and text pairs with a loaded cross-encoder."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import InvalidModel
from codekernel.inference.batching import BatchRunner, ThreadBudget, plan_batches
from codekernel.inference.model_folder import ModelFolder
from codekernel.inference.model_outputs import select_score_output
from codekernel.inference.model_session import ModelSession, TokenBatch
from codekernel.inference.tokenizer import EncodedText, ModelTokenizer

FloatArray = npt.NDArray[np.float32]

_BINARY_LOGITS = 2


class Reranker:
    """A loaded cross-encoder; any number of threads may use it."""

    def __init__(
        self, folder: ModelFolder, providers: Sequence[str], thread_budget: ThreadBudget
    ) -> None:
        self.folder = folder
        self._tokenizer = ModelTokenizer(folder)
        self._session = ModelSession(folder.onnx_file, providers)
        self._output = select_score_output(self._session.output_shapes, folder)
        self._compute_scores(self._tokenizer.encode_pairs([("probe", "probe")]))
        self._runner = BatchRunner(
            ThreadBudget.from_max_threads(1) if self._session.is_accelerated else thread_budget
        )

    def score(self, query: str, texts: Sequence[str], cancel: CancelToken) -> list[float]:
        """How well each text answers, 0..1; a person waits, so bulk work waits too."""
        tokens = self._tokenizer.encode_pairs([(query, text) for text in texts])
        scores = np.zeros(len(texts), np.float32)
        lengths = [len(pair.ids) for pair in tokens]

        def run(rows: list[int]) -> None:
            scores[rows] = self._compute_scores([tokens[row] for row in rows])

        batches = plan_batches(lengths, batch_size_tokens=self.folder.batch_size_tokens)
        self._runner.run_batches(batches, run, cancel, urgent=True)
        return [float(score) for score in np.nan_to_num(scores, nan=0.0)]

    def close(self) -> None:
        """Let the model go; whoever still uses it finishes first."""
        self._runner.close()

    def _compute_scores(self, pairs: list[EncodedText]) -> FloatArray:
        batch = TokenBatch.from_token_ids(
            [pair.ids for pair in pairs],
            [pair.type_ids for pair in pairs],
            self._tokenizer.pad_id,
        )
        logits = self._session.run(batch, self._output).reshape(len(pairs), -1)
        if logits.shape[1] == _BINARY_LOGITS:
            logits = logits[:, 1:] - logits[:, :1]
        if logits.shape[1] != 1:
            raise InvalidModel(
                f"{self.folder.onnx_file} gives {logits.shape[1]} numbers per text; "
                "a reranker gives one, or two for no and yes"
            )
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits[:, 0], -60.0, 60.0))), np.float32)
