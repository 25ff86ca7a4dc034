"""Select the model output to use and pool and normalize token vectors into one vector per text."""

import logging
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from codekernel.errors import InvalidModel
from codekernel.inference.model_folder import ModelFolder, Pooling

logger = logging.getLogger(__name__)

FloatArray = npt.NDArray[np.float32]

IntArray = npt.NDArray[np.int64]


def pool_token_vectors(hidden: FloatArray, mask: IntArray, pooling: Pooling) -> FloatArray:
    """Return one vector per text; ``hidden`` is [texts, tokens, dimensions], padded right."""
    match pooling:
        case Pooling.CLS:
            pooled = hidden[:, 0]
        case Pooling.LAST:
            last = np.maximum(mask.sum(axis=1) - 1, 0)
            pooled = hidden[np.arange(len(hidden)), last]
        case Pooling.MEAN:
            weights = mask[:, :, None].astype(np.float32)
            total = (hidden * weights).sum(axis=1)
            pooled = total / np.maximum(weights.sum(axis=1), np.float32(1))
        case Pooling.NONE:
            pooled = hidden
    return np.asarray(pooled, np.float32)


def normalize_vectors(vectors: FloatArray) -> FloatArray:
    """Return vectors of length one; those of length zero stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), np.float32)


OutputShapes = Mapping[str, Sequence[object]]

_SENTENCE_OUTPUT = "sentence_embedding"

_TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings", "hidden_states")

_TOKEN_RANK, _TEXT_RANK = 3, 2


def select_vector_output(outputs: OutputShapes, folder: ModelFolder) -> tuple[str, Pooling]:
    """Return the output that becomes vectors, and how it is pooled."""
    if folder.output_name is not None:
        return _select_named_output(outputs, folder, folder.output_name)
    if _SENTENCE_OUTPUT in outputs:
        return _SENTENCE_OUTPUT, Pooling.NONE
    per_text = [name for name, shape in outputs.items() if len(shape) == _TEXT_RANK]
    per_token = [name for name, shape in outputs.items() if len(shape) == _TOKEN_RANK]
    per_token.sort(key=lambda name: name not in _TOKEN_OUTPUTS)
    ready = [name for name in per_text if name != "pooler_output"]
    if folder.pooling in (None, Pooling.NONE) and ready:
        return ready[0], Pooling.NONE
    if not per_token or folder.pooling is Pooling.NONE:
        raise InvalidModel(
            f"{folder.onnx_file} has the outputs {', '.join(outputs)}, none of which is a vector "
            "per token or per text; export it for feature extraction"
        )
    if folder.pooling is None:
        logger.info("%s does not say how it is pooled; the mean is used", folder.path)
    return per_token[0], folder.pooling or Pooling.MEAN


def select_score_output(outputs: OutputShapes, folder: ModelFolder) -> str:
    """Return the output that becomes scores."""
    if folder.output_name is not None:
        return _select_named_output(outputs, folder, folder.output_name)[0]
    fitting = [name for name, shape in outputs.items() if len(shape) <= _TEXT_RANK]
    if not fitting:
        raise InvalidModel(
            f"{folder.onnx_file} has the outputs {', '.join(outputs)}, none of which is a score "
            "per text; export it for sequence classification"
        )
    return "logits" if "logits" in fitting else fitting[0]


def _select_named_output(
    outputs: OutputShapes, folder: ModelFolder, name: str
) -> tuple[str, Pooling]:
    if name not in outputs:
        raise InvalidModel(
            f"codekernel.json in {folder.path} names the output {name!r}; "
            f"{folder.onnx_file.name} has {', '.join(outputs)}"
        )
    per_text = len(outputs[name]) <= _TEXT_RANK
    return name, Pooling.NONE if per_text else folder.pooling or Pooling.MEAN
