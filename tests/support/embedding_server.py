"""A server of embeddings and scores on 127.0.0.1 that behaves as it is told.

Its vectors are sums of random ones, one for each word: texts that share words are near each other.
"""

import base64
import json
import random
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np

from support.loopback_server import LoopbackServer

HOST = "127.0.0.1"

Answer = tuple[int, Any, dict[str, str]]


@dataclass
class EmbeddingServer:
    """What it answers next, and what it was asked."""

    port: int = 0
    dimensions: int = 32
    seed: str = "one model"
    delay_seconds: float = 0.0
    # Called with each request before it is answered; what it returns is sent instead.
    intercept: Callable[[dict[str, Any]], Answer | None] = lambda _: None
    # Changes the list of vectors of an answer.
    spoil: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = lambda data: data
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/v1"

    @property
    def texts(self) -> list[str]:
        return [text for request in self.requests for text in request.get("input", [])]

    def embed(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        vector = np.zeros(self.dimensions, np.float32)
        for word in re.findall(r"\w+", text.lower()) or [""]:
            chosen = random.Random(f"{self.seed} {word}")  # noqa: S311 - no secret
            vector += np.array([chosen.gauss(0, 1) for _ in range(self.dimensions)], np.float32)
        return vector

    def answer(self, path: str, request: dict[str, Any]) -> Answer:
        if path.endswith("/rerank"):
            return self._answer_rerank(request)
        as_text = request.get("encoding_format") == "base64"
        data = []
        for place, text in enumerate(request["input"]):
            vector = self.embed(text)
            shown = base64.b64encode(vector.tobytes()).decode() if as_text else vector.tolist()
            data.append({"object": "embedding", "index": place, "embedding": shown})
        return 200, {"object": "list", "data": self.spoil(data)}, {}

    def _answer_rerank(self, request: dict[str, Any]) -> Answer:
        wanted = set(re.findall(r"\w+", request["query"].lower()))
        scores = [
            len(wanted & set(re.findall(r"\w+", text.lower()))) / max(1, len(wanted))
            for text in request["documents"]
        ]
        found = [{"index": at, "relevance_score": score} for at, score in enumerate(scores)]
        return 200, {"results": sorted(found, key=lambda each: -each["relevance_score"])}, {}


@contextmanager
def embedding_server(**facts: Any) -> Iterator[EmbeddingServer]:
    """Serve for as long as the block lasts; a port of 0 is any."""
    state = EmbeddingServer(**facts)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with state.lock:
                state.requests.append(request)
                state.keys.append(self.headers.get("Authorization", ""))
                state.running += 1
                state.most_running = max(state.most_running, state.running)
            state.closing.wait(state.delay_seconds)
            status, body, headers = state.intercept(request) or state.answer(self.path, request)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            with state.lock:
                state.running -= 1
            try:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Keep the test output quiet."""

    class Server(LoopbackServer):
        def handle_error(self, *_: object) -> None:
            """Clients that leave are no news."""

    with Server((HOST, state.port), Handler) as server:
        state.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield state
        finally:
            state.closing.set()
            server.shutdown()
            thread.join()
