"""The teacher: the transformer whose sentence vectors the static model imitates."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when onnxruntime is imported

import onnxruntime

BATCH = 16
SAVED_EVERY = 2048  # texts between two writes of the cache: a minute or two of work


class Teacher:
    """A model folder with a finished ``sentence_embedding``, on one core."""

    def __init__(self, folder: Path, longest: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            folder / "model.onnx", options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(longest)
        self._tokenizer.no_padding()

    def embed(self, texts: Sequence[str], cache: Path) -> np.ndarray:
        """The vectors of ``texts``; ``cache`` keeps what is done when the run is cut short."""
        done = np.load(cache) if cache.exists() else np.zeros((0, 0), np.float32)
        while len(done) < len(texts):
            fresh = self._vectors(texts[len(done) : len(done) + SAVED_EVERY])
            done = np.concatenate([done, fresh]) if len(done) else fresh
            np.save(cache, done)
            print(f"  {cache.stem}: {len(done):,} of {len(texts):,}", flush=True)
        return done[: len(texts)]

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        """Batches of like length, so that nothing is padded much."""
        encoded = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(encoded)), key=lambda place: len(encoded[place]))
        vectors: dict[int, np.ndarray] = {}
        for start in range(0, len(order), BATCH):
            places = order[start : start + BATCH]
            width = max(len(encoded[place]) for place in places)
            ids = np.ones((len(places), width), np.int64)
            mask = np.zeros((len(places), width), np.int64)
            for row, place in enumerate(places):
                ids[row, : len(encoded[place])] = encoded[place]
                mask[row, : len(encoded[place])] = 1
            feed = {"input_ids": ids, "attention_mask": mask}
            (found,) = self._session.run(["sentence_embedding"], feed)
            vectors.update(zip(places, found, strict=True))
        return np.stack([vectors[place] for place in range(len(encoded))])
