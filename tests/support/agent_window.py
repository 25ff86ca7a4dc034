"""A window that gives an agent its tasks, in the same kernel as ``conversation_window``."""

from dataclasses import dataclass
from typing import Any

from support.conversation_window import SESSION, Asker
from support.kernel_process import Line

SKIP = ("plan", {"action": "skip"})


@dataclass(frozen=True)
class AgentWindow:
    asker: Asker

    def begin(self, task: str, number: int = 1, **fields: Any) -> int:
        """Post a task; its callbackId."""
        given: Line = {"modelName": "model", "conversationId": number, "query": task} | fields
        return self.asker.kernel.post("beginAgentTurn", session=SESSION, **given)

    def worked(self, task: str, number: int = 1) -> list[Line]:
        """Give a task and wait for its end; all replies."""
        callback_id = self.begin(task, number)
        self.asker.until(callback_id, "done")
        return self.asker.replies(callback_id)

    def question(self, callback_id: int, tool: str = "") -> Any:
        """The permission that is asked for."""
        line = self.asker.kernel.wait_for(
            lambda line: (
                line["isReply"]
                and line["callbackId"] == callback_id
                and line.get("data", {}).get("type") == "permission"
                and tool in {"", line["data"]["content"]["tool"]}
            ),
            "a permission",
        )
        return line["data"]["content"]

    def decide(self, tool_use_id: str, decision: str, number: int = 1) -> Line:
        return self.asker.kernel.request(
            "answerPermission",
            session=SESSION,
            conversationId=number,
            toolUseId=tool_use_id,
            decision=decision,
        )

    def undo(self, time: int, number: int = 1) -> Line:
        return self.asker.kernel.request(
            "undoAgentTurn", session=SESSION, conversationId=number, time=time
        )


def messages(replies: list[Line]) -> list[Any]:
    """The messages that were whole, in order."""
    told = [
        line["data"]["content"] for line in replies if line.get("data", {}).get("type") == "message"
    ]
    return [each for each in told if each.get("meta", {}).get("complete", True)]


def results(replies: list[Line]) -> list[tuple[str, bool]]:
    """What each tool answered, and whether it failed."""
    return [
        (block["content"], block.get("is_error", False))
        for message in messages(replies)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def done(replies: list[Line]) -> Any:
    data = replies[-1]["data"]
    assert data["type"] == "done"
    return data
