"""A kernel whose windows ask questions, and the endpoint that answers them."""

import itertools
import json
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Self

from kernel_child import KernelChild, request
from kernel_talk import STATIC_SETTINGS

MODEL = "bench"
PATIENCE_SECONDS = 120.0
SOURCES = 20  # files; retrieval is no part of what is measured, but takes place
_ENDPOINT = Path(__file__).with_name("chat_endpoint.py")

# A reply and the moment at which it was read.
Reply = tuple[int, dict[str, Any]]


class Endpoint:
    """The scripted server, in its own process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(_ENDPOINT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdout  # noqa: S101 - Popen was asked for it
        self.url = self._process.stdout.readline().decode().strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


class ChatKernel:
    """A kernel on ``root``/userData that asks the endpoint; any thread may ask."""

    def __init__(self, root: Path, url: str, windows: int = 1) -> None:
        _write_settings(root / "userData", url)
        self._repo = _write_sources(root / "repository")
        self.child = KernelChild(root)
        self.windows = windows
        self._numbers = itertools.count(1)
        self._waiting: dict[int, queue.SimpleQueue[Reply]] = {}
        self._writing = threading.Lock()
        self.child.output.readline()  # ready
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        self._ask({"type": "createRepo", "repoName": self._repo.name, "path": str(self._repo)})
        for window in range(1, self.windows + 1):
            self._ask({"type": "openRepo", "repoName": self._repo.name, "sessionId": window})
        while self._index_state() != "idle":
            time.sleep(0.1)
        return self

    def __exit__(self, *_: object) -> None:
        self.child.input.close()
        self._reader.join()
        self.child.process.wait(60)
        self.child.output.close()

    def asked(self, conversation: int, question: str, window: int = 1) -> list[Reply]:
        """Every reply to one question."""
        message: dict[str, object] = {
            "type": "beginConversation",
            "modelName": MODEL,
            "conversationId": conversation,
            "query": question,
        }
        arrived = self._post(message, window)
        replies = [arrived.get(timeout=PATIENCE_SECONDS)]
        while kind(replies[-1]) != "done" and kind(replies[0]) == "ack":
            replies.append(arrived.get(timeout=PATIENCE_SECONDS))
        return replies

    def _index_state(self) -> str:
        status: dict[str, str] = self._ask({"type": "getIndexStatus"}, 1)["data"]
        return status["state"]

    def _ask(self, message: dict[str, object], window: int = -1) -> dict[str, Any]:
        reply = self._post(message, window).get(timeout=PATIENCE_SECONDS)
        if kind(reply) == "error":
            raise SystemExit(f"{message}: {reply[1]}")
        return reply[1]

    def _post(self, message: dict[str, object], window: int) -> "queue.SimpleQueue[Reply]":
        number, arrived = next(self._numbers), queue.SimpleQueue[Reply]()
        self._waiting[number] = arrived
        with self._writing:
            self.child.input.write(request(number, message, window))
            self.child.input.flush()
        return arrived

    def _read(self) -> None:
        for line in self.child.output:
            now = time.monotonic_ns()
            if b'"isReply":true' in line:
                reply = json.loads(line)
                self._waiting[reply["callbackId"]].put((now, reply))


def kind(reply: Reply) -> str:
    """What a reply is: its type, ``ack`` or ``error``."""
    envelope = reply[1]
    if envelope["status"]["code"] != "SUCCESS":
        return "error"
    data: dict[str, str] = envelope.get("data", {})
    return data.get("type", "ack")


def answer_tokens(replies: list[Reply]) -> list[tuple[int, str]]:
    """Every token of the answer with the moment at which it was read."""
    return [
        (moment, token)
        for moment, envelope in replies
        if kind((moment, envelope)) == "answer"
        for token in envelope["data"]["content"].split()
    ]


def _write_settings(user_data: Path, url: str) -> None:
    user_data.mkdir(parents=True)
    content = {
        "searchSettings": {
            "searchLimit": 10,
            "embeddingConfig": {"configs": [STATIC_SETTINGS]},
            "rerankConfig": {"configs": []},
        },
        "localModelManagement": {"models": []},
        "conversationSettings": {
            "generationModel": [{"name": MODEL, "modelName": MODEL, "url": url}],
            "historyLength": 10_000,
        },
        "performance": {"maxThreads": 0, "useCuda": False, "useCoreML": False},
    }
    (user_data / "settings.json").write_text(json.dumps(content), encoding="utf-8")


def _write_sources(repo: Path) -> Path:
    repo.mkdir()
    for number in range(SOURCES):
        text = "".join(
            f"def bench_{number}_{each}(value):\n    return value + {each}\n\n\n"
            for each in range(40)
        )
        (repo / f"module_{number}.py").write_text(text, encoding="utf-8")
    return repo
