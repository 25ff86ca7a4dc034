"""Measures every way of storing the weights: ``granite_measure.py WHEEL SOURCES TEMPORARY``.

Runs in the throw-away environment of compare_granite.py. The machine may be busy, so speeds are of
processor time, the ways take turns, and the best of a few turns counts.
"""

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import granite_forms as forms
import granite_load
import numpy as np
from granite_folder import read_wheel
from granite_functions import Function, sample
from granite_graph import Weights, build
from granite_pack import Pack
from onnx import TensorProto
from tokenizers import Tokenizer

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when onnxruntime is imported

from onnxruntime import InferenceSession
from onnxruntime.quantization import quantize_dynamic

QUESTIONS, FUNCTIONS, CHUNKS = 300, 600, 300
BATCH, LONGEST, PADDING = 8, 256, 1
LENGTHS, TURNS, LOADS = (128, 256, 512), 4, 3
FOLD = {"session.disable_quant_qdq": "1"}
HEADER = (
    "form",
    "MB",
    "load ms",
    "RSS MB",
    *map(str, LENGTHS),
    "query ms",
    "least cosine",
    "MRR@10",
)


@dataclass
class Candidate:
    """One way, its file, and how onnxruntime is to read it."""

    name: str
    path: Path
    settings: dict[str, str] = field(default_factory=dict)

    def session(self) -> InferenceSession:
        """The model, loaded."""
        return granite_load.load(self.path, self.settings)


def candidates(pack: Pack, folder: Path) -> list[Candidate]:
    """Write every way into ``folder``; the first is the reference."""
    ways: dict[str, Weights] = {
        "fp32": forms.Float32(),
        "fp16 storage": forms.Float16(),
        "int8 groups, folded": forms.Int8Folded(),
        "int8 DequantizeLinear": forms.Int8Dequantize(),
        "MatMulNBits fp32": forms.NBits(1),
        "MatMulNBits int8": forms.NBits(4),
    }
    made = []
    for number, (name, way) in enumerate(ways.items()):
        path = folder / f"{number}.onnx"
        path.write_bytes(build(pack, way).SerializeToString(deterministic=True))
        made.append(Candidate(name, path))
    made.append(Candidate("int8 DequantizeLinear, told to fold", made[3].path, FOLD))
    for name, careful in (("dynamic int8, per channel, reduced", True), ("dynamic int8", False)):
        path = folder / f"dynamic{careful}.onnx"
        quantize_dynamic(
            made[0].path,
            path,
            per_channel=careful,
            reduce_range=careful,
            extra_options={"DefaultTensorType": TensorProto.FLOAT},
        )
        made.append(Candidate(name, path))
    return made


def loading(every: list[Candidate]) -> list[tuple[float, float]]:
    """Milliseconds and megabytes, each the least of a few fresh processes that take turns."""
    runs = [[_load(candidate) for candidate in every] for _ in range(LOADS)]
    return [tuple(map(min, zip(*of_one, strict=True))) for of_one in zip(*runs, strict=True)]


def _load(candidate: Candidate) -> tuple[float, float]:
    settings = [f"{key}={value}" for key, value in candidate.settings.items()]
    command = [sys.executable, granite_load.__file__, str(candidate.path), *settings]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    milliseconds, megabytes, _ = done.stdout.split()
    return float(milliseconds), float(megabytes)


def seconds(sessions: list[InferenceSession], batch: int, length: int) -> list[float]:
    """Processor time of one call, for each session; they take turns."""
    ids = np.random.default_rng(0).integers(5, 50_000, (batch, length))
    best = [float("inf")] * len(sessions)
    for _ in range(TURNS + 1):  # the first turn allocates, and is never the best
        for number, session in enumerate(sessions):
            start = time.process_time()
            session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
            best[number] = min(best[number], time.process_time() - start)
    return best


def batches(encoded: list[list[int]]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions and padded ids, of similar lengths together."""
    order = np.argsort([len(ids) for ids in encoded], kind="stable")
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        padded = np.full((len(chosen), max(len(encoded[at]) for at in chosen)), PADDING, np.int64)
        for row, at in enumerate(chosen):
            padded[row, : len(encoded[at])] = encoded[at]
        yield chosen, padded


def embed(session: InferenceSession, encoded: list[list[int]]) -> np.ndarray:
    """One vector per text."""
    vectors = np.empty((len(encoded), session.get_outputs()[0].shape[1]), np.float32)
    for chosen, ids in batches(encoded):
        mask = (ids != PADDING).astype(np.int64)
        vectors[chosen] = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
    return vectors


def quality(
    sessions: list[InferenceSession], pack: Pack, functions: list[Function]
) -> list[tuple[float, float]]:
    """Least cosine to the first session's vectors, and MRR@10 of questions -> functions."""
    tokenizer = Tokenizer.from_buffer(pack.tokenizer)
    tokenizer.enable_truncation(LONGEST)
    texts = [function.text for function in functions]
    questions = [function.question for function in functions[:QUESTIONS]]
    documents, queries = (
        [encoding.ids for encoding in tokenizer.encode_batch(part)] for part in (texts, questions)
    )
    results, reference = [], None
    for session in sessions:
        vectors = embed(session, documents)
        reference = vectors if reference is None else reference
        cosines = (vectors[:CHUNKS] * reference[:CHUNKS]).sum(axis=1)
        scores = embed(session, queries) @ vectors.T
        right = scores[np.arange(QUESTIONS), np.arange(QUESTIONS)]
        ranks = 1 + (scores > right[:, None]).sum(axis=1)
        results.append((float(cosines.min()), float(np.where(ranks <= 10, 1 / ranks, 0).mean())))  # noqa: PLR2004 - MRR@10
        print(".", end="", file=sys.stderr, flush=True)
    return results


def main() -> None:
    """Print the table."""
    logging.disable(logging.WARNING)  # the quantiser's advice
    pack = read_wheel(Path(sys.argv[1]))
    every = candidates(pack, Path(sys.argv[3]))
    loads = loading(every)
    sessions = [candidate.session() for candidate in every]
    speeds = [[BATCH / taken for taken in seconds(sessions, BATCH, length)] for length in LENGTHS]
    query = seconds(sessions, 1, 16)
    scores = quality(sessions, pack, sample(Path(sys.argv[2]), FUNCTIONS))
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    for number, candidate in enumerate(every):
        ratios = " | ".join(f"{speed[number] / speed[0]:.2f}" for speed in speeds)
        size, (load, memory) = candidate.path.stat().st_size / 1e6, loads[number]
        print(
            f"| {candidate.name} | {size:.1f} | {load:.0f} | {memory:.0f} | {ratios} | "
            f"{1e3 * query[number]:.1f} | {scores[number][0]:.6f} | {scores[number][1]:.4f} |"
        )
    base = " / ".join(f"{speed[0]:.1f}" for speed in speeds)
    print(
        f"fp32 at {LENGTHS} tokens, batch {BATCH}, one thread: {base} chunks per processor second"
    )


if __name__ == "__main__":
    main()
