"""A loaded ONNX model: opened once, fed with token ids, run by any number of threads."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kernel.domain.cancel import CancelToken
from kernel.errors import Cancelled, InvalidModel
from kernel.inference.onnx import onnxruntime
from kernel.inference.providers import CPU
from kernel.inference.runtime_errors import runtime_errors

logger = logging.getLogger(__name__)

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

_FED = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
_ERRORS_ONLY = 3


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Token ids of several texts, padded to one width."""

    ids: Integers
    mask: Integers
    types: Integers

    @classmethod
    def of(
        cls, ids: Sequence[Sequence[int]], types: Sequence[Sequence[int]], pad_id: int
    ) -> "TokenBatch":
        """Put texts of about the same length side by side."""
        width = max(len(row) for row in ids)
        shape = (len(ids), width)
        batch = cls(
            np.full(shape, pad_id, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        )
        for row, (text, kinds) in enumerate(zip(ids, types, strict=True)):
            batch.ids[row, : len(text)] = text
            batch.mask[row, : len(text)] = 1
            batch.types[row, : len(kinds)] = kinds
        return batch


class ModelSession:
    """One onnxruntime session. On a CPU each run uses the calling thread alone.

    The threads are ours (see Workers) and not onnxruntime's, so that all models together obey the
    settings and a query can go between two batches.
    """

    def __init__(self, onnx_file: Path, providers: Sequence[str]) -> None:
        self._file = onnx_file
        self._session = _open(onnx_file, providers)
        self.on_accelerator = self._session.get_providers()[0] != CPU
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        self.outputs = {entry.name: entry.shape for entry in self._session.get_outputs()}
        unknown = set(self._inputs) - _FED
        if unknown or "input_ids" not in self._inputs:
            raise InvalidModel(
                f"{onnx_file} takes the inputs {', '.join(self._inputs)}; codekernel feeds "
                f"{', '.join(sorted(_FED))}. Export it for feature extraction, without a cache"
            )

    def run(self, batch: TokenBatch, output: str, cancel: CancelToken | None = None) -> Floats:
        """One output for a batch; raises Cancelled, in the middle of it if need be."""
        cancel = cancel or CancelToken()
        options = onnxruntime.RunOptions()
        positions = np.broadcast_to(np.arange(batch.ids.shape[1]), batch.ids.shape)
        feeds: dict[str, Any] = {
            "input_ids": batch.ids,
            "attention_mask": batch.mask,
            "token_type_ids": batch.types,
            "position_ids": positions,
        }
        try:
            with cancel.telling(lambda: setattr(options, "terminate", True)):
                (result,) = self._session.run(
                    [output], {name: feeds[name] for name in self._inputs}, options
                )
        except runtime_errors() as error:
            if cancel.cancelled:
                raise Cancelled("the model's work was cancelled") from None
            raise InvalidModel(
                f"{self._file} cannot be run: {_first_line(error)}. If it says that an index is "
                "out of bounds, the tokenizer beside it belongs to another model"
            ) from error
        return np.asarray(result, dtype=np.float32)


def _open(onnx_file: Path, providers: Sequence[str]) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(
            str(onnx_file),
            options,
            providers=list(providers),
            enable_fallback=0,  # falling back would print to stdout
        )
    except runtime_errors() as error:
        raise InvalidModel(
            f"{onnx_file} is not a model that onnxruntime {onnxruntime.__version__} can load: "
            f"{_first_line(error)}"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:300] if str(error) else type(error).__name__
