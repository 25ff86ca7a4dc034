"""Load an ONNX model with its tokenizer and run padded token batches on it.

Any number of threads may run batches; a batch can be cancelled while it runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled, InvalidModel
from codekernel.inference.batching import BatchRunner, ThreadBudget
from codekernel.inference.model_folder import ModelFolder
from codekernel.inference.model_outputs import FloatArray, IntArray
from codekernel.inference.onnx_runtime import onnxruntime
from codekernel.inference.providers import CPU, get_runtime_errors
from codekernel.inference.tokenizer import EncodedText, ModelTokenizer

_SUPPORTED_INPUTS = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}

_LOG_LEVEL_ERROR = 3


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Token ids of several texts, padded to one width."""

    ids: IntArray
    mask: IntArray
    type_ids: IntArray

    @classmethod
    def from_texts(cls, texts: Sequence[EncodedText], pad_id: int) -> "TokenBatch":
        """Pad texts of about the same length to one width."""
        shape = (len(texts), max(len(text.ids) for text in texts))
        batch = cls(
            np.full(shape, pad_id, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        )
        for row, text in enumerate(texts):
            batch.ids[row, : len(text.ids)] = text.ids
            batch.mask[row, : len(text.ids)] = 1
            batch.type_ids[row, : len(text.type_ids)] = text.type_ids
        return batch


class ModelSession:
    """One onnxruntime session. On a CPU each run uses the calling thread alone.

    The threads are those of BatchRunner and not onnxruntime's, so that all models together obey
    the settings and a query can run between two batches.
    """

    def __init__(self, onnx_file: Path, providers: Sequence[str]) -> None:
        self._file = onnx_file
        self._session = _open_session(onnx_file, providers)
        self.is_accelerated = self._session.get_providers()[0] != CPU
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        self.output_shapes = {entry.name: entry.shape for entry in self._session.get_outputs()}
        unknown = set(self._inputs) - _SUPPORTED_INPUTS
        if unknown or "input_ids" not in self._inputs:
            raise InvalidModel(
                f"{onnx_file} takes the inputs {', '.join(self._inputs)}; codekernel feeds "
                f"{', '.join(sorted(_SUPPORTED_INPUTS))}. Export it for feature "
                "extraction, without a cache"
            )

    def run(self, batch: TokenBatch, output: str, cancel: CancelToken | None = None) -> FloatArray:
        """Return one output for a batch; raises Cancelled, also while it runs."""
        cancel = cancel or CancelToken()
        options = onnxruntime.RunOptions()
        positions = np.broadcast_to(np.arange(batch.ids.shape[1]), batch.ids.shape)
        feeds: dict[str, Any] = {
            "input_ids": batch.ids,
            "attention_mask": batch.mask,
            "token_type_ids": batch.type_ids,
            "position_ids": positions,
        }
        try:
            with cancel.on_cancel(lambda: setattr(options, "terminate", True)):
                (result,) = self._session.run(
                    [output], {name: feeds[name] for name in self._inputs}, options
                )
        except get_runtime_errors() as error:
            if cancel.is_cancelled:
                raise Cancelled("the model's work was cancelled") from None
            raise InvalidModel(
                f"{self._file} cannot be run: {_summarize_error(error)}. If it says that an index"
                " is out of bounds, the tokenizer beside it belongs to another model"
            ) from error
        return np.asarray(result, dtype=np.float32)


class LoadedModel:
    """The tokenizer, session and threads of one model; any number of threads may use it."""

    def __init__(
        self, folder: ModelFolder, providers: Sequence[str], thread_budget: ThreadBudget
    ) -> None:
        self.folder = folder
        self._tokenizer = ModelTokenizer(folder)
        self._session = ModelSession(folder.onnx_file, providers)
        is_accelerated = self._session.is_accelerated
        self._runner = BatchRunner(
            ThreadBudget.from_max_threads(1) if is_accelerated else thread_budget
        )

    def close(self) -> None:
        """Unload the model once running batches are done."""
        self._runner.close()

    def _run(
        self, texts: Sequence[EncodedText], output: str, cancel: CancelToken | None = None
    ) -> tuple[FloatArray, IntArray]:
        """Return one output for encoded texts, and the mask of their tokens."""
        batch = TokenBatch.from_texts(texts, self._tokenizer.pad_id)
        return self._session.run(batch, output, cancel), batch.mask


def _open_session(onnx_file: Path, providers: Sequence[str]) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _LOG_LEVEL_ERROR
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(
            str(onnx_file),
            options,
            providers=list(providers),
            enable_fallback=0,  # falling back would print to stdout
        )
    except get_runtime_errors() as error:
        raise InvalidModel(
            f"{onnx_file} is not a model that onnxruntime {onnxruntime.__version__} can load: "
            f"{_summarize_error(error)}"
        ) from error


def _summarize_error(error: Exception) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__
