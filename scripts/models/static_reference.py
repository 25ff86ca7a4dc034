"""The written folder used as anybody would: onnxruntime, tokenizers, padding. Checks and speed."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from manifest import write_json
from tokenizers import Tokenizer

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when onnxruntime is imported

import onnxruntime

CANONICAL_COMPONENTS = 16
CANONICAL_DIGITS = 6
CANONICAL_TEXTS = (
    "parse a JSON string into a dict",
    "def parseHttpRequest(raw: bytes) -> HTTPRequest:\n    return HTTPRequest.parse(raw)\n",
    "retry the request with exponential backoff",
    "func (s *Server) Close() error {\n\treturn s.listener.Close()\n}\n",
    "export const clamp = (x, lo, hi) => Math.min(hi, Math.max(lo, x));",
    "SELECT name, COUNT(*) FROM users GROUP BY name HAVING COUNT(*) > 1;",
    "读取配置文件 and return its settings",
    "x",
)
SPEED_BATCH = 64


class Folder:
    """The model of a folder on one core."""

    def __init__(self, folder: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            folder / "model.onnx", options, providers=["CPUExecutionProvider"]
        )
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token numbers; encode_batch_fast leaves out offsets nobody reads."""
        return [
            e.ids for e in self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        ]

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of ``texts``."""
        return self.run(self.ids(texts))

    def run(self, ids: list[list[int]]) -> np.ndarray:
        """The vectors of token numbers, as one padded batch."""
        lengths = np.array([len(one) for one in ids])
        mask = np.arange(max(1, lengths.max())) < lengths[:, None]
        padded = np.zeros(mask.shape, np.int64)
        padded[mask] = np.concatenate([np.array(one, np.int64) for one in ids])
        feed = {"input_ids": padded, "attention_mask": mask.astype(np.int64)}
        return self.session.run(None, feed)[0]


def write_canonical(folder: Path) -> None:
    """Record what the model says of a few texts."""
    vectors = Folder(folder).embed(CANONICAL_TEXTS)
    shown = vectors[:, :CANONICAL_COMPONENTS].round(CANONICAL_DIGITS)
    pairs = zip(CANONICAL_TEXTS, shown.tolist(), strict=True)
    write_json(
        folder / "canonical_vectors.json",
        [{"text": text, "vector": vector} for text, vector in pairs],
    )


def speed(folder: Path, texts: Sequence[str]) -> dict[str, float]:
    """Texts per second of processor time: tokenising, the graph, and both."""
    model = Folder(folder)
    model.embed(texts[:SPEED_BATCH])
    start = time.process_time()
    ids = model.ids(texts)
    tokenised = time.process_time()
    ids.sort(key=len)
    for first in range(0, len(ids), SPEED_BATCH):
        model.run(ids[first : first + SPEED_BATCH])
    end = time.process_time()
    return {
        "tokens per text": sum(map(len, ids)) / len(ids),
        "tokenising": len(texts) / (tokenised - start),
        "graph": len(texts) / (end - tokenised),
        "both": len(texts) / (end - start),
    }
