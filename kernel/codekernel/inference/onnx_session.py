"""Run one ONNX model by onnxruntime: encoded texts in, one of its outputs out."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled, InvalidModel
from codekernel.inference.providers import (
    CPU,
    get_runtime_errors,
    load_onnxruntime,
    open_session,
)

FloatArray = npt.NDArray[np.float32]

IntArray = npt.NDArray[np.int64]

TokenArray = npt.NDArray[np.int32]


class EncodedText(NamedTuple):
    """The ids of one text, or of a pair, with special tokens, truncated to the model's window."""

    ids: Sequence[int] | TokenArray
    type_ids: Sequence[int] = ()  # zeros where there are none


_SUPPORTED_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")

_LOG_LEVEL_ERROR = 3


class OnnxSession:
    """Any number of threads may use it; on a CPU each run uses the calling thread alone."""

    def __init__(self, onnx_file: Path, providers: Sequence[str], pad_id: int) -> None:
        """Load the model. Raises InvalidModel."""
        self._onnx_file = onnx_file
        self._pad_id = pad_id
        self._onnxruntime = load_onnxruntime()
        try:
            self._session = open_session(str(onnx_file), providers, _LOG_LEVEL_ERROR)
        except get_runtime_errors() as error:
            version = self._onnxruntime.__version__
            raise InvalidModel(
                f"{onnx_file} is not a model that onnxruntime {version} can"
                f" load: {_summarize_error(error)}"
            ) from error
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        self.output_shapes: dict[str, Sequence[object]] = {
            entry.name: entry.shape for entry in self._session.get_outputs()
        }
        if not set(_SUPPORTED_INPUTS).issuperset(self._inputs) or "input_ids" not in self._inputs:
            raise InvalidModel(
                f"{onnx_file} takes the inputs {', '.join(self._inputs)}; codekernel feeds "
                f"{', '.join(sorted(_SUPPORTED_INPUTS))}. Export it for feature "
                "extraction, without a cache"
            )
        self.is_accelerated = self._session.get_providers()[0] != CPU

    def run(
        self, texts: Sequence[EncodedText], output: str, cancel: CancelToken
    ) -> tuple[FloatArray, IntArray]:
        """Return one output for encoded texts, and the mask of their tokens.

        Raises Cancelled, also while it runs.
        """
        options = self._onnxruntime.RunOptions()
        batch = _pad_tokens(texts, self._pad_id)
        inputs = {name: batch[name] for name in self._inputs}
        try:
            with cancel.on_cancel(lambda: setattr(options, "terminate", True)):
                (result,) = self._session.run([output], inputs, options)
        except get_runtime_errors() as error:
            if cancel.is_cancelled:
                raise Cancelled("the model's work was cancelled") from None
            raise InvalidModel(
                f"{self._onnx_file} cannot be run: {_summarize_error(error)}. If it says that"
                " an index is out of bounds, the tokenizer beside it belongs to another model"
            ) from error
        return np.asarray(result, dtype=np.float32), batch["attention_mask"]


def _pad_tokens(texts: Sequence[EncodedText], pad_id: int) -> dict[str, IntArray]:
    """Return the inputs of a model: texts of about the same length, padded to one width."""
    shape = (len(texts), max(len(text.ids) for text in texts))
    ids = np.full(shape, pad_id, np.int64)
    mask, type_ids = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for row, text in enumerate(texts):
        ids[row, : len(text.ids)] = text.ids
        mask[row, : len(text.ids)] = 1
        type_ids[row, : len(text.type_ids)] = text.type_ids
    positions = np.broadcast_to(np.arange(shape[1]), shape)
    return dict(zip(_SUPPORTED_INPUTS, (ids, mask, type_ids, positions), strict=True))


def _summarize_error(error: Exception) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__
