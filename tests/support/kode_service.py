"""``codekernel backend --http`` beside a shared kernel, and a client of it over real sockets."""

import http.client
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.chat_server import (
    Answer,
    ChatServer,
    ReceivedRequest,
    ScriptedAnswer,
    Step,
    delta,
    end_reply,
    reply_text,
)
from support.command_line import CODEKERNEL, TIMEOUT_SECONDS
from support.conversation_client import chat_settings
from support.shared_kernel import ENVIRON, SharedKernel

SECRET = "a secret of clients"
SKIP = ("toolu_0", "plan", {"action": "skip"})
Frame = dict[str, Any]


class FrameStream:
    """The frames of one response, one by one; their form is checked to the letter."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        self.response = connection.getresponse()

    def __iter__(self) -> Iterator[Frame]:
        while line := self.response.readline():
            assert line.startswith(b"data: {"), line
            assert self.response.readline() == b"\n"
            yield json.loads(line.removeprefix(b"data: "))

    def read_until(self, kind: str) -> Frame:
        return next(frame for frame in self if frame["type"] == kind)

    def close(self) -> None:
        self.response.close()
        self._connection.close()


class KodeClient:
    """Asks a service that listens on a port."""

    def __init__(self, port: int) -> None:
        self.port = port

    def open(
        self,
        body: object,
        *,
        method: str = "POST",
        path: str = "/api/chat/stream",
        key: str | None = SECRET,
        **headers: str,
    ) -> FrameStream:
        """Send a request; a body that is no text or bytes is sent as JSON."""
        content = body if isinstance(body, str | bytes) else json.dumps(body)
        given = {"Content-Type": "application/json"} | ({"X-API-Key": key} if key else {})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_SECONDS)
        connection.request(method, path, content, given | headers)
        return FrameStream(connection)

    def ask(self, message: str, folder: Path | None = None, **fields: object) -> list[Frame]:
        """The frames of a whole turn, without heartbeats."""
        context = {"workingDir": str(folder)} if folder else {}
        stream = self.open({"message": message, "context": context, **fields})
        assert stream.response.status == 200, stream.response.read()
        return [frame for frame in stream if frame["type"] != "heartbeat"]

    def refuse(self, body: object, **options: Any) -> tuple[int, str]:
        """The status and the error of a request that is refused."""
        stream = self.open(body, **options)
        content = json.loads(stream.response.read())
        assert content["message"]
        return stream.response.status, content["error"]


@contextmanager
def kode_service(
    user_data: Path, *roots: Path, words: tuple[str, ...] = (), secret: str = SECRET
) -> Iterator[KodeClient]:
    """A running service whose requests may be about these folders."""
    options = [word for root in roots for word in ("--root", str(root))]
    environ = {**os.environ, **ENVIRON, "CODEKERNEL_USER_DATA": str(user_data)}
    with subprocess.Popen(
        [*CODEKERNEL, "backend", "--http", "0", *options, *words],
        stdout=subprocess.PIPE,
        text=True,
        env=environ | {"KODE_API_SECRET": secret},
    ) as process:
        assert process.stdout
        yield KodeClient(int(process.stdout.readline().rpartition(":")[2]))
        process.terminate()
        assert process.wait(TIMEOUT_SECONDS) == 0


def call_tools(*calls: tuple[str, str, object], text: str = "") -> list[Step]:
    """An answer of the model that uses tools: id, name and arguments of each."""
    steps: list[Step] = [delta(text)] if text else []
    for index, (call_id, name, given) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(given)}
        call = {"index": index, "id": call_id, "type": "function", "function": function}
        steps.append(delta(tool_calls=[call]))
    return [*steps, *end_reply("tool_calls")]


def answer_by_task(answers: dict[str, list[Answer]]) -> Callable[[ReceivedRequest], Answer]:
    """Answer each task by its own script: the first word of the task names it."""

    def answer(received: ReceivedRequest) -> Answer:
        messages = received.json["messages"]
        asked = [each["content"] for each in messages if each["role"] == "user"]
        script = answers[asked[-1].split()[0]]
        return script.pop(0)

    return answer


def kinds(frames: list[Frame]) -> list[str]:
    return [frame["type"] for frame in frames]


def select(frames: list[Frame], kind: str) -> list[Frame]:
    return [frame for frame in frames if frame["type"] == kind]


def write(path: str, content: str = "new\n", number: int = 1) -> tuple[str, str, object]:
    """A call that writes a file."""
    return (f"toolu_{number}", "Replace", {"file_path": path, "content": content})


@dataclass(frozen=True)
class KodeWorld:
    """A service that works in ``first`` and ``second``, its model and its kernel."""

    client: KodeClient
    server: ChatServer
    shared: SharedKernel
    first: Path
    second: Path
    outside: Path

    def script(self, *answers: ScriptedAnswer) -> None:
        """What the model answers from now on."""
        self.server._script[:] = answers


@contextmanager
def kode_world(place: Path) -> Iterator[KodeWorld]:
    """All of it, in an empty folder."""
    folders = [place / name for name in ("userData", "first", "second", "outside")]
    for folder in folders:
        folder.mkdir()
    user_data, first, second, outside = folders
    with ChatServer([reply_text("Ready.")]) as server, SharedKernel(user_data) as shared:
        chat_settings(user_data, server.url)
        with kode_service(user_data, first, second) as client:
            yield KodeWorld(client, server, shared, first, second, outside)
