"""What PocketRAG's own front end does, in its order: started its way, over an earlier database.

Its main process spawns the kernel without arguments and with one variable as the whole
environment; its windows send what is sent here.
"""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.chat_server import ChatServer, reply_text
from support.conversation_client import chat_settings, write_sources
from support.shared_kernel import SharedKernel

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
WINDOW = 0  # its ids are milliseconds since its start, so the first may be this


class FrontEnd:
    """Its main process: one kernel, lines in and lines out."""

    def __init__(self, user_data: Path) -> None:
        keep = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
        self.kernel = subprocess.Popen(
            [sys.executable, "-m", "codekernel"],
            cwd=PROJECT,
            env=keep | {"POCKETRAG_USERDATA_PATH": str(user_data)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def send(self, session: int, callback: int, /, **message: Any) -> None:
        line = {
            "sessionId": session,
            "toMain": session == -1,
            "callbackId": callback,
            "isReply": False,
            "message": message,
        }
        assert self.kernel.stdin
        self.kernel.stdin.write(json.dumps(line, ensure_ascii=False) + "\n")
        self.kernel.stdin.flush()

    def hear(self, kind: str) -> Any:
        """The next message of a type; what comes before it is passed over."""
        assert self.kernel.stdout
        for text in self.kernel.stdout:
            assert text.isascii()
            line = json.loads(text)
            if line["message"]["type"] == kind:
                return line
        raise AssertionError(f"the kernel ended before {kind}")

    def wait_until_indexed(self, *files: str) -> None:
        done: set[str] = set()
        while done != {*files}:
            told = self.hear("embeddingStatus")["message"]
            if told["status"] == "done":
                done.add(told["filePath"])

    def ask(self, callback: int, /, **message: Any) -> Any:
        self.send(-1, callback, **message)
        return self.hear(message["type"])


@pytest.fixture
def front_end(user_data: Path, repo: Path, server: ChatServer) -> Iterator[FrontEnd]:
    write_sources(repo)
    chat_settings(user_data, server.url, model={"setApiKey": True})
    (user_data / "db").mkdir(parents=True)
    earlier = sqlite3.connect(user_data / "db" / "kernel.db")
    earlier.executescript(
        "CREATE TABLE repository (id INTEGER PRIMARY KEY AUTOINCREMENT,"
        " repo_name TEXT UNIQUE, repo_path TEXT);"
        "CREATE TABLE generation_model (id INTEGER PRIMARY KEY AUTOINCREMENT,"
        " model_name TEXT UNIQUE, api_key TEXT);"
    )
    earlier.execute("INSERT INTO repository VALUES (7, ?, ?)", (repo.name, str(repo)))
    earlier.execute("INSERT INTO generation_model VALUES (1, 'model', 'sk-earlier')")
    earlier.commit()
    earlier.close()
    with SharedKernel(user_data):  # which it starts, and shares with whoever comes
        front_end = FrontEnd(user_data)
        yield front_end
        front_end.kernel.kill()
        front_end.kernel.communicate()


def test_a_day_with_an_earlier_pocketrag_goes_on_where_it_was(
    front_end: FrontEnd, repo: Path, server: ChatServer
) -> None:
    front_end.hear("ready")
    (listed,) = front_end.ask(0, type="getRepos", sessionId=WINDOW)["data"]["repoList"]
    assert listed == {"name": repo.name, "path": str(repo)}
    opened = front_end.ask(1, type="openRepo", repoName=repo.name, sessionId=WINDOW)
    assert opened["message"]["sessionId"] == WINDOW
    front_end.hear("sessionPrepared")
    first = front_end.hear("embeddingStatus")["message"]
    assert (first["status"], first["progress"]) == ("embedding", 0.0)
    front_end.wait_until_indexed("session.py", "routing.py")

    front_end.send(WINDOW, 3, type="search", query="close the session and route", accuracy=True)
    results = front_end.hear("search")["data"]["results"]
    assert "<mark>Session</mark>" in results[0]["highlightedContent"]
    assert "<mark>the</mark>" not in results[0]["highlightedContent"]

    server.extend_script(reply_text("It ends with `close`.", used=(10, 5)))
    question = {"type": "beginConversation", "conversationId": 1, "query": "How does it end?"}
    front_end.send(WINDOW, 4, modelName="model", **question)
    kinds: list[str] = []
    while not kinds or kinds[-1] != "done":
        line = front_end.hear("beginConversation")
        assert line["status"]["code"] == "SUCCESS"
        kinds.append(line.get("data", {"type": "ack"})["type"])
    assert kinds[:3] == ["ack", "annotation", "search"]
    assert server.received[0].headers["Authorization"] == "Bearer sk-earlier"

    front_end.send(WINDOW, 5, modelName="nobody", **question)
    assert front_end.hear("beginConversation")["status"]["code"] == "NETWORK_ERROR"
    assert front_end.hear("beginConversation")["data"]["type"] == "done"

    front_end.send(WINDOW, 6, type="getApiUsage")
    (usage,) = front_end.hear("getApiUsage")["data"]["apiUsage"]
    assert (usage["model_name"], usage["total_token"]) == ("scripted-1", 15)
    key = front_end.ask(7, type="getApiKey", name="model", windowId=3)
    assert (key["data"]["apiKey"], key["message"]["windowId"]) == ("sk-earlier", 3)
    assert front_end.ask(8, type="stopAll")["status"]["code"] == "SUCCESS"
    assert front_end.kernel.wait(60) == 0


def test_it_shares_the_kernel_of_its_folder_and_a_killed_kernel_is_no_crash(
    front_end: FrontEnd, user_data: Path, repo: Path
) -> None:
    front_end.hear("ready")
    assert front_end.ask(1, type="openRepo", repoName=repo.name, sessionId=WINDOW)
    front_end.wait_until_indexed("session.py", "routing.py")
    kernel = SharedKernel(user_data)
    (client,) = [each for each in kernel.status()["clients"] if each["name"] == "PocketRAG"]
    assert (client["pid"], client["repos"]) == (front_end.kernel.pid, [repo.name])
    kernel.kill()
    front_end.send(WINDOW, 2, type="search", query="close the session", accuracy=False)
    assert front_end.hear("search")["data"]["results"][0]["filePath"] == "session.py"
    assert front_end.ask(3, type="stopAll")["status"]["code"] == "SUCCESS"
    assert front_end.kernel.wait(60) == 0
