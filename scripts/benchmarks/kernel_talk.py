"""Several threads and windows talking to one kernel process at once, as a front end does."""

import itertools
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from codekernel.inference.model_folder import STATIC_MODEL
from codekernel.settings.local_models import build_default_embedding_configs
from kernel_child import KernelChild, request

REPLY_SECONDS = 600.0
LOOK_SECONDS = 0.02
STATIC_SETTINGS = {
    "name": "static",
    "modelName": STATIC_MODEL,
    "inputLength": build_default_embedding_configs()[0].max_chunk_chars,
    "selected": True,
}
EXAMPLE = Path(__file__).resolve().parents[2] / "userData.example" / "settings.json"

Message = dict[str, Any]
Heard = Callable[[Message, float], None]


class KernelTalk:
    """A kernel on ``root``/userData with the static model alone; replies go to who asked."""

    def __init__(self, root: Path, input_length: int | None = None) -> None:
        _select_static(root / "userData", input_length)
        self.began = time.perf_counter()
        self.child = KernelChild(root)
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[threading.Event, list[Message]]] = {}
        self._writing = threading.Lock()
        self._listeners: list[Heard] = []
        self._ready = threading.Event()
        self.ready_seconds = 0.0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        if not self._ready.wait(REPLY_SECONDS):
            raise SystemExit("The kernel never became ready.")
        return self

    def __exit__(self, *_: object) -> None:
        self.child.input.close()
        self._reader.join()
        self.child.process.wait(60)
        self.child.output.close()

    def listen(self, heard: Heard) -> None:
        """Have ``heard`` called on the reader's thread with each message that is no reply."""
        self._listeners.append(heard)

    def register(self, repo: Path, *windows: int) -> None:
        """Make a folder a repository and open it in some windows."""
        self.ask({"type": "createRepo", "repoName": repo.name, "path": str(repo)})
        self.open(repo, *windows)

    def remove(self, repo: Path) -> None:
        """Forget a repository, so that another one may have its name."""
        self.ask({"type": "deleteRepo", "repoName": repo.name})

    def close(self, *windows: int) -> None:
        """Close what some windows have open."""
        for window in windows:
            self.ask({"type": "closeRepo", "sessionId": window})

    def open(self, repo: Path, *windows: int) -> None:
        """Open a registered repository in some windows."""
        for window in windows:
            self.ask({"type": "openRepo", "repoName": repo.name, "sessionId": window})

    def search(self, query: str, window: int, limit: int = 10) -> list[Message]:
        """The results of one search."""
        reply = self.ask({"type": "search", "query": query, "limit": limit}, window)
        results: list[Message] = reply["data"]["results"]
        return results

    def status(self, window: int) -> Message:
        """How far the index is."""
        status: Message = self.ask({"type": "getIndexStatus"}, window)["data"]
        return status

    def wait_for_idle(self, window: int, look_seconds: float = LOOK_SECONDS) -> Message:
        """Ask until everything is indexed; with nothing to embed the config never gets ready."""
        while True:
            status = self.status(window)
            if status["state"] == "idle":
                return status
            time.sleep(look_seconds)

    def ask(self, message: Message, session: int = -1) -> Message:
        """Send a request and wait for its reply; any thread."""
        number, arrived = next(self._numbers), threading.Event()
        reply: list[Message] = []
        self._waiting[number] = (arrived, reply)
        with self._writing:
            self.child.input.write(request(number, message, session))
            self.child.input.flush()
        if not arrived.wait(REPLY_SECONDS) or not reply:
            raise SystemExit(f"The kernel did not answer {message}.")
        code = reply[0]["status"]["code"]
        if code != "SUCCESS":
            raise SystemExit(f"{message}: {reply[0]['status']}")
        return reply[0]

    def _read(self) -> None:
        for line in self.child.output:
            now = time.perf_counter()
            if b'"isReply":true' in line:
                envelope = json.loads(line)
                arrived, reply = self._waiting.pop(envelope["callbackId"])
                reply.append(envelope)
                arrived.set()
            elif not self._ready.is_set():
                self.ready_seconds = now - self.began
                self._ready.set()
            else:
                message = json.loads(line)["message"]
                for heard in self._listeners:
                    heard(message, now)
        for arrived, _ in list(self._waiting.values()):
            arrived.set()


def index_folder(root: Path) -> Path:
    """The index of the first repository that was registered."""
    return root / "userData" / "index" / "1"


def _select_static(user_data: Path, input_length: int | None) -> None:
    user_data.mkdir(parents=True, exist_ok=True)
    text = EXAMPLE.read_text(encoding="utf-8")
    config = STATIC_SETTINGS | ({"inputLength": input_length} if input_length else {})
    chosen = text.replace('"configs": []', f'"configs": [{json.dumps(config)}]', 1)
    (user_data / "settings.json").write_text(chosen, encoding="utf-8")
