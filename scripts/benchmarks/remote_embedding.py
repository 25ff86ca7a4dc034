"""What codekernel adds to each chunk of a remote model: ``remote_embedding.py [--url URL]``.

The same texts are embedded by codekernel (secrets masked, answers checked, vectors normalised) and
by a bare HTTP client with requests that are encoded already, in turns, at the same concurrency.
Without ``--url`` the server is llama.cpp's, with the small model of the tests.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
from clients_place import ROOT
from codekernel.chunking.chunker import chunk_text
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import RemoteModel
from codekernel.remote.remote_models import RemoteModels
from codekernel.storage.user_data import UserData
from support.llama_server import run_llama_server
from verdicts import verdict

MAX_ADDED_SHARE = 0.05

CHUNK_CHARS = 950


def main() -> int:
    """Print the figures; 1 if the target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="the address of a server, such as http://127.0.0.1:8080/v1")
    parser.add_argument("--model", default="local", help="the model's name there")
    parser.add_argument("--texts", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--concurrency", type=int, default=2)
    args = parser.parse_args()
    texts = _read_texts(args.texts)
    with _open_server(args.url) as url:
        model = RemoteModel(
            "bench", url, args.model, batch_size=args.batch, concurrency=args.concurrency
        )
        with tempfile.TemporaryDirectory() as folder:
            return _measure(model, texts, args.rounds, Path(folder))


@contextmanager
def _open_server(url: str | None) -> Iterator[str]:
    if url:
        yield url
        return
    with run_llama_server() as address:
        yield f"{address}/v1"


def _read_texts(count: int) -> list[str]:
    """Return chunks of our own code."""
    found: list[str] = []
    for path in sorted(ROOT.glob("kernel/codekernel/*/*.py")):
        text = path.read_text(encoding="utf-8")
        (chunks,) = chunk_text(text, "python", [CHUNK_CHARS])
        found += [text[chunk.begin : chunk.end] for chunk in chunks]
        if len(found) >= count:
            break
    return found[:count]


def _measure(model: RemoteModel, texts: list[str], rounds: int, folder: Path) -> int:
    with RemoteModels(UserData(folder), lambda _: "").acquire_embedder(model) as embedder:
        embedder.embed_documents(texts[: model.batch_size], CancelToken())  # both are warm
        order = sorted(texts, key=len, reverse=True)
        size = model.batch_size
        payloads = [
            json.dumps(
                {
                    "model": model.model_name,
                    "input": order[start : start + size],
                    "encoding_format": "base64",
                }
            ).encode()
            for start in range(0, len(order), size)
        ]
        ratios, added, own = [], [], []
        for _ in range(rounds):
            bare, bare_cpu = _time_bare(model, payloads)
            started, cpu = time.perf_counter(), time.process_time()
            embedder.embed_documents(texts, CancelToken())
            whole, whole_cpu = time.perf_counter() - started, time.process_time() - cpu
            ratios.append(whole / bare)
            own.append(bare / len(texts))
            added.append((whole_cpu - bare_cpu) / len(texts))
    share = statistics.median(added) * model.concurrency / statistics.median(own)
    print(f"{embedder.host}, {embedder.dimensions} dimensions, {len(texts)} texts, {rounds} rounds")
    print(f"server's own time      {statistics.median(own) * 1000:.2f} ms per chunk")
    print(f"whole / server's own   {statistics.median(ratios):.3f} (wall, median of the rounds)")
    print(f"added CPU of our own   {statistics.median(added) * 1e6:.0f} us per chunk")
    print(f"added / server's own   {share:.2%} even if none of it overlaps")
    return 0 if verdict("added / server's own", share, MAX_ADDED_SHARE) else 1


def _time_bare(model: RemoteModel, payloads: list[bytes]) -> tuple[float, float]:
    """Return wall and CPU seconds of a client that does nothing but send and receive."""
    headers = {"Content-Type": "application/json"}
    with (
        httpx.Client(trust_env=False, timeout=600) as client,
        ThreadPoolExecutor(model.concurrency) as pool,
    ):
        started, cpu = time.perf_counter(), time.process_time()

        def send(payload: bytes) -> None:
            answer = client.post(f"{model.url}/embeddings", content=payload, headers=headers)
            answer.raise_for_status()

        list(pool.map(send, payloads))
        return time.perf_counter() - started, time.process_time() - cpu


if __name__ == "__main__":
    sys.exit(main())
