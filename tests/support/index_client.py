"""A window on a repository of a running kernel, and the settings that say how it is indexed."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.kernel_process import KernelProcess, Line, code_of
from support.polling import wait_until

TIMEOUT_SECONDS = 90
STATIC = "codekernel-static-v3"


def config(name: str, length: int, model: str = STATIC, *, selected: bool = True) -> Line:
    return {"name": name, "modelName": model, "inputLength": length, "selected": selected}


def write_settings(user_data: Path, *configs: Line, models: dict[str, Path] | None = None) -> None:
    listed = [
        {"name": name, "path": str(path), "type": "embedding", "fileSize": 1}
        for name, path in (models or {}).items()
    ]
    content = {
        "searchSettings": {
            "searchLimit": 10,
            "embeddingConfig": {"configs": list(configs)},
            "rerankConfig": {"configs": []},
        },
        "localModelManagement": {"models": listed},
        "conversationSettings": {"generationModel": [], "historyLength": 1000},
        "performance": {"maxThreads": 0, "useCuda": False, "useCoreML": False},
    }
    (user_data / "settings.json").write_text(json.dumps(content), encoding="utf-8")


def write_files(repo: Path, count: int, functions: int = 1) -> list[str]:
    """Files of small functions, each with a name of its own; their paths."""
    paths = [f"module_{number}.py" for number in range(count)]
    for number, path in enumerate(paths):
        body = "".join(
            f"def function_{number}_{each}(value):\n    return value + {number} * {each}\n\n\n"
            for each in range(functions)
        )
        (repo / path).write_text(body, encoding="utf-8")
    return paths


@dataclass(frozen=True)
class IndexClient:
    """A front end with one session of a kernel."""

    kernel: KernelProcess
    session: int

    def request(self, message_type: str, **fields: Any) -> Line:
        """A request and its reply, which is looked for among new lines only."""
        since = len(self.kernel.lines)
        number = self.kernel.post(message_type, session=self.session, **fields)
        return self.kernel.reply_to(number, since)

    def search(self, query: str) -> list[str]:
        reply = self.request("search", query=query)
        assert code_of(reply) == "SUCCESS", reply
        return [hit["filePath"] for hit in reply["data"]["results"]]

    def status(self) -> Line:
        data: Line = self.request("getIndexStatus")["data"]
        return data

    def list_skipped(self, **fields: Any) -> Line:
        data: Line = self.request("getSkippedFiles", **fields)["data"]
        return data

    def pause(self, *, paused: bool) -> None:
        assert self.request("pauseIndexing", paused=paused)["data"] == {"paused": paused}

    def list_chunks(self) -> list[Line]:
        found: list[Line] = self.request("getChunksInfo")["data"]["chunkInfo"]
        return found

    def wait_until(self, true: Callable[[], object], what: str) -> None:
        wait_until(true, lambda: f"never: {what}; {self.status()}", TIMEOUT_SECONDS)

    def wait_until_idle(self) -> Line:
        """Wait until the index is up to date; its status then."""
        self.wait_until(lambda: self.status()["state"] == "idle", "idle")
        return self.status()

    def wait_until_done(self, path: str, times: int = 1) -> None:
        """Wait for so many ``done`` events of a file."""
        self.wait_until(lambda: self.list_done().count(path) >= times, f"{path} done")

    def list_events(self, path: str = "", since: int = 0) -> list[Line]:
        """Return the embeddingStatus events of a file, or of all files, in order."""
        return [
            line["message"]
            for line in list(self.kernel.lines)[since:]
            if line["sessionId"] == self.session
            and line["message"]["type"] == "embeddingStatus"
            and path in {"", line["message"]["filePath"]}
        ]

    def list_done(self, since: int = 0) -> list[str]:
        return [
            line["filePath"] for line in self.list_events(since=since) if line["status"] == "done"
        ]

    def find_line(self, message_type: str) -> int:
        """Return the place of the first message of a type among all lines."""
        return next(
            number
            for number, line in enumerate(self.kernel.lines)
            if line["sessionId"] == self.session and line["message"]["type"] == message_type
        )


def open_client(kernel: KernelProcess, repo: Path, session: int) -> IndexClient:
    kernel.open(repo, session)
    return IndexClient(kernel, session)
