"""``codekernel serve --team`` as a process, and its clients."""

import json
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
from codekernel.adapters.team.tokens import TokenFile
from codekernel.storage.user_data import UserData
from websockets.sync.client import ClientConnection, connect

from support.command_line import CODEKERNEL, TIMEOUT_SECONDS
from support.kernel_process import bare_environment
from support.polling import wait_until

POLL_SECONDS = 0.1


@dataclass
class TeamServer:
    """A server that runs, and what its tokens are made of."""

    url: str
    user_data: Path
    clients: dict[str, "TeamClient"] = field(default_factory=dict)

    def make_client(self, user: str) -> "TeamClient":
        """Return the client of a user, which is closed at the end."""
        if user not in self.clients:
            tokens = TokenFile(UserData(self.user_data).team_folder / "tokens.json")
            self.clients[user] = TeamClient(self.url, tokens.add(user))
        return self.clients[user]

    @contextmanager
    def open_socket(self, user: str, token: str = "") -> Iterator["TeamSocket"]:
        """Connect as a user, with a token of their own."""
        path = UserData(self.user_data).team_folder / "tokens.json"
        headers = {"Authorization": f"Bearer {token or TokenFile(path).add(user)}"}
        url = f"ws{self.url.removeprefix('http')}/v1/socket"
        with connect(url, additional_headers=headers, proxy=None) as socket:
            yield TeamSocket(socket)

    def read_audit(self) -> list[dict[str, Any]]:
        text = (self.user_data / "team" / "audit.log").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


class TeamClient:
    """One person with a token."""

    def __init__(self, url: str, token: str) -> None:
        self.token = token
        headers = {"Authorization": f"Bearer {token}"}
        self.http = httpx.Client(
            base_url=url, headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False
        )

    def post(self, path: str, /, **fields: Any) -> httpx.Response:
        return self.http.post(path, json=fields)

    def ask(self, action: str, /, **fields: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.post(f"/v1/repositories/app/{action}", **fields).json()
        return answer

    def call(self, tool: str, /, **arguments: Any) -> str:
        """Return the text of a tool's result over MCP."""
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return str(self.http.post("/mcp/app", json=message).json()["result"]["content"][0]["text"])

    def wait_until_indexed(self, count: int) -> None:
        """Wait until so many files can be searched; for who may read all of them."""
        wait_until(lambda: self.ask("files").get("total", 0) >= count, "never indexed")


@dataclass
class TeamSocket:
    """One person over a WebSocket; session 1 is that of ``app``."""

    socket: ClientConnection
    callbacks: Iterator[int] = field(default_factory=lambda: count(1))

    def send(self, message: dict[str, Any], *, session: int, callback: int) -> None:
        frame = {"sessionId": session, "toMain": session == -1, "callbackId": callback}
        self.socket.send(json.dumps({**frame, "isReply": False, "message": message}))

    def receive(self) -> dict[str, Any]:
        line: dict[str, Any] = json.loads(self.socket.recv(TIMEOUT_SECONDS))
        return line

    def ask(self, kind: str, *, session: int = 1, **fields: Any) -> dict[str, Any]:
        """Return the reply to a message; nothing else may come before it."""
        callback = next(self.callbacks)
        self.send({"type": kind, **fields}, session=session, callback=callback)
        reply = self.receive()
        assert (reply["callbackId"], reply["isReply"]) == (callback, True), reply
        return reply

    def ask_main(self, kind: str, **fields: Any) -> dict[str, Any]:
        callback = next(self.callbacks)
        self.send({"type": kind, **fields}, session=-1, callback=callback)
        return self.receive()

    def open_app(self) -> None:
        """Open the repository, and wait until its session answers."""
        assert self.ask_main("openRepo", repoName="app", sessionId=1)["data"]["path"] == ""
        assert self.receive()["message"]["type"] == "sessionPrepared"


@contextmanager
def run_team_server(
    user_data: Path, rights: Mapping[str, Any], *words: str, scheme: str = "http"
) -> Iterator[TeamServer]:
    """Serve for as long as the block lasts; ends it as an operator does."""
    folder = user_data / "team"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rights.json").write_text(json.dumps(rights), encoding="utf-8")
    with subprocess.Popen(
        [*CODEKERNEL, "serve", "--team", "--port", "0", *words],
        env=bare_environment(user_data),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        try:
            said = process.stdout.readline()
            assert f"{scheme}://" in said, said
            running = TeamServer(said.split()[-1], user_data)
            yield running
            for client in running.clients.values():
                client.http.close()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(TIMEOUT_SECONDS)
