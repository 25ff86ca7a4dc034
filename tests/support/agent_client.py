"""A front end that gives an agent tasks, in the same kernel as ``conversation_client``."""

from dataclasses import dataclass
from typing import Any

from support.conversation_client import SESSION, ConversationClient
from support.kernel_process import Line

SKIP = ("plan", {"action": "skip"})


@dataclass(frozen=True)
class AgentClient:
    client: ConversationClient

    def begin(self, task: str, number: int = 1, **fields: Any) -> int:
        """Post a task; its callbackId."""
        given: Line = {"modelName": "model", "conversationId": number, "query": task} | fields
        return self.client.kernel.post("beginAgentTurn", session=SESSION, **given)

    def follow(self, number: int = 1, session: int = SESSION) -> int:
        """Follow the running turn of a conversation; its callbackId."""
        return self.client.kernel.post("followConversation", session=session, conversationId=number)

    def run_task(self, task: str, number: int = 1) -> list[Line]:
        """Give a task and wait for its end; all replies."""
        callback_id = self.begin(task, number)
        self.client.wait_for_reply(callback_id, "done")
        return self.client.list_replies(callback_id)

    def wait_for_permission(self, callback_id: int, tool: str = "") -> Any:
        """The permission that is asked for."""
        line = self.client.kernel.wait_for(
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
        return self.client.kernel.request(
            "answerPermission",
            session=SESSION,
            conversationId=number,
            toolUseId=tool_use_id,
            decision=decision,
        )

    def undo(self, time: int, number: int = 1) -> Line:
        return self.client.kernel.request(
            "undoAgentTurn", session=SESSION, conversationId=number, time=time
        )


def list_messages(replies: list[Line]) -> list[Any]:
    """The messages that were whole, in order."""
    messages = [
        line["data"]["content"] for line in replies if line.get("data", {}).get("type") == "message"
    ]
    return [each for each in messages if each.get("meta", {}).get("complete", True)]


def list_tool_results(replies: list[Line]) -> list[tuple[str, bool]]:
    """What each tool answered, and whether it failed."""
    return [
        (block["content"], block.get("is_error", False))
        for message in list_messages(replies)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def done(replies: list[Line]) -> Any:
    data = replies[-1]["data"]
    assert data["type"] == "done"
    return data
