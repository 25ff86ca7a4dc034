"""A window that asks questions: a kernel with an indexed repository and a scripted chat model."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.kernel_process import KernelProcess, Line, code_of

SESSION = 7
ENVIRON = {"CODEKERNEL_VAULT_KEY": "a" * 64}
SOURCE = '''class Session:
    """A window on a repository."""

    def close(self) -> None:
        """End the session and refuse waiting requests."""
        self.closed = True
'''
ROUTES = "def add_route(path, handler):\n    routes[path] = handler\n"


def chat_settings(user_data: Path, url: str, *, vectors: bool = False, **changes: Any) -> None:
    """One chat model, called ``model``; ``changes`` are to conversationSettings.

    Found by words alone unless ``vectors``: opening those takes a process two seconds of CPU.
    """
    model = {"name": "model", "modelName": "scripted-1", "url": url, "setApiKey": False}
    model |= changes.pop("model", {})
    content = {
        "searchSettings": {
            "searchLimit": 10,
            "embeddingConfig": {
                "configs": [
                    {
                        "name": "static",
                        "modelName": "codekernel-static-v3",
                        "inputLength": 950,
                        "selected": vectors,
                    }
                ]
            },
            "rerankConfig": {"configs": []},
        },
        "localModelManagement": {"models": []},
        "conversationSettings": {"generationModel": [model], "historyLength": 10_000, **changes},
        "performance": {"maxThreads": 0, "useCuda": False, "useCoreML": False},
    }
    (user_data / "settings.json").write_text(json.dumps(content), encoding="utf-8")


def write_sources(repo: Path) -> None:
    (repo / "session.py").write_text(SOURCE, encoding="utf-8")
    (repo / "routing.py").write_text(ROUTES, encoding="utf-8")


@contextmanager
def conversation_kernel(
    user_data: Path, repo: Path, *, again: bool = False
) -> Iterator["ConversationClient"]:
    """A kernel whose session 7 has the repository open and, unless ``again``, just indexed it."""
    with KernelProcess(user_data, environ=ENVIRON) as kernel:
        kernel.open(repo, SESSION)
        asker = ConversationClient(kernel, user_data)
        if not again:
            kernel.wait_for(lambda _: asker.is_indexed(repo), "the index")
        yield asker


@dataclass(frozen=True)
class ConversationClient:
    kernel: KernelProcess
    user_data: Path

    def is_indexed(self, repo: Path) -> bool:
        wanted = {path.name for path in repo.iterdir()}
        done = {
            line["message"]["filePath"]
            for line in list(self.kernel.lines)
            if line["message"].get("status") == "done"
        }
        return wanted <= done

    def ask(self, query: str, number: int = 1, *, session: int = SESSION, **fields: Any) -> int:
        """Post a question; its callbackId."""
        given: Line = {"modelName": "model", "conversationId": number, "query": query} | fields
        return self.kernel.post("beginConversation", session=session, **given)

    def list_replies(self, callback_id: int) -> list[Line]:
        """All replies so far."""
        return [
            line
            for line in list(self.kernel.lines)
            if line["isReply"] and line["callbackId"] == callback_id
        ]

    def wait_for_reply(self, callback_id: int, kind: str, content: str | None = None) -> Line:
        """The first reply of one type."""
        return self.kernel.wait_for(
            lambda line: (
                line["isReply"]
                and line["callbackId"] == callback_id
                and line.get("data", {}).get("type") == kind
                and content in {None, line["data"]["content"]}
            ),
            f"{kind} of {callback_id}",
        )

    def ask_and_wait(self, query: str, number: int = 1, **fields: Any) -> list[Line]:
        """Ask and wait for the end; all replies."""
        callback_id = self.ask(query, number, **fields)
        self.wait_for_reply(callback_id, "done")
        return self.list_replies(callback_id)

    def stop(self, number: int = 1) -> Line:
        return self.kernel.request("stopConversation", session=SESSION, conversationId=number)

    def read_history(self, number: int = 1) -> Any:
        path = self.user_data / "conversations" / f"conversation-{number}.json"
        return json.loads(path.read_bytes())

    def list_usage(self) -> list[Line]:
        found: list[Line] = self.kernel.request("getApiUsage", session=SESSION)["data"]["apiUsage"]
        return found


def kinds(replies: list[Line]) -> list[str]:
    """What each reply is: its type, ``ack``, or its code if it failed."""
    return [
        code_of(line) if code_of(line) != "SUCCESS" else line.get("data", {"type": "ack"})["type"]
        for line in replies
    ]


def answer_of(replies: list[Line]) -> str:
    return "".join(
        line["data"]["content"] for line in replies if line.get("data", {}).get("type") == "answer"
    )
