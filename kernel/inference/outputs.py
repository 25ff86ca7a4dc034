"""Which of a model's outputs is the one we want."""

import logging
from collections.abc import Mapping, Sequence

from kernel.errors import InvalidModel
from kernel.inference.model_folder import ModelFolder, Pooling

logger = logging.getLogger(__name__)

Outputs = Mapping[str, Sequence[object]]

_READY = "sentence_embedding"
_PER_TOKEN = ("last_hidden_state", "token_embeddings", "hidden_states")
_TOKEN_RANK, _TEXT_RANK = 3, 2


def vector_output(outputs: Outputs, folder: ModelFolder) -> tuple[str, Pooling]:
    """The output that becomes vectors, and how it is pooled."""
    if folder.output is not None:
        return _named(outputs, folder, folder.output)
    if _READY in outputs:
        return _READY, Pooling.NONE
    per_text = [name for name, shape in outputs.items() if len(shape) == _TEXT_RANK]
    per_token = [name for name, shape in outputs.items() if len(shape) == _TOKEN_RANK]
    per_token.sort(key=lambda name: name not in _PER_TOKEN)
    ready = [name for name in per_text if name != "pooler_output"]
    if folder.pooling in (None, Pooling.NONE) and ready:
        return ready[0], Pooling.NONE
    if not per_token or folder.pooling is Pooling.NONE:
        raise InvalidModel(
            f"{folder.onnx_file} has the outputs {', '.join(outputs)}, none of which is a vector "
            "per token or per text; export it for feature extraction"
        )
    if folder.pooling is None:
        logger.info("%s does not say how it is pooled; the mean is taken", folder.path)
    return per_token[0], folder.pooling or Pooling.MEAN


def score_output(outputs: Outputs, folder: ModelFolder) -> str:
    """The output that becomes scores."""
    if folder.output is not None:
        return _named(outputs, folder, folder.output)[0]
    fitting = [name for name, shape in outputs.items() if len(shape) <= _TEXT_RANK]
    if not fitting:
        raise InvalidModel(
            f"{folder.onnx_file} has the outputs {', '.join(outputs)}, none of which is a score "
            "per text; export it for sequence classification"
        )
    return "logits" if "logits" in fitting else fitting[0]


def _named(outputs: Outputs, folder: ModelFolder, name: str) -> tuple[str, Pooling]:
    if name not in outputs:
        raise InvalidModel(
            f"codekernel.json in {folder.path} names the output {name!r}; "
            f"{folder.onnx_file.name} has {', '.join(outputs)}"
        )
    per_text = len(outputs[name]) <= _TEXT_RANK
    return name, Pooling.NONE if per_text else folder.pooling or Pooling.MEAN
