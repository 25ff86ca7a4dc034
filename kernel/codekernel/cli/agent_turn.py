"""An agent's turn in the kernel: begin it, read its parts as events.

For ``codekernel agent`` and for ``codekernel backend --http``.
"""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codekernel.agent.loop import STOPPED_MESSAGE
from codekernel.agent.session_store import AgentSessionStore
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.cli import model_selection
from codekernel.cli.folder_session import FolderSession, make_conversation_id
from codekernel.cli.kernel_access import open_kernel
from codekernel.cli.turn_stream import Part, TurnStream
from codekernel.client.connection import KernelConnection
from codekernel.domain.turn_events import (
    AgentCallsQueued,
    AgentFinished,
    AgentSessionOpened,
    AgentTextDelta,
    AgentThinkingDelta,
    AgentToolReturned,
    AgentToolUsed,
    LoopEvent,
    PermissionRequested,
    PermissionSettled,
    RoundStarted,
    TurnFailed,
    TurnReminded,
)
from codekernel.errors import KernelError, RefusedByKernel, WrongParam
from codekernel.storage.user_data import UserData, open_user_data

# What is shown of a turn, or needs an answer.
AgentEvent = LoopEvent | AgentSessionOpened | PermissionRequested | PermissionSettled


@dataclass(frozen=True, slots=True)
class AgentTask:
    """What is asked of an agent; ``conversation_id`` and ``session`` go on with those.

    ``tools`` are all it gets, None for the usual ones. Unless it ``can_ask``, everything that
    needs a permission and is not in ``allow`` is refused. ``within``: the folder is only reached
    through this one.
    """

    prompt: str
    folder: Path
    model: str
    session: str = ""
    conversation_id: int = 0
    tools: Sequence[str] | None = None
    allow: Sequence[str] = ()
    can_ask: bool = False
    rounds: int | None = None
    within: str = ""
    plan_first: bool = False

    def begin(self, kernel: KernelConnection) -> TurnStream:
        """Open the folder and make the turn ready. Raises KernelError."""
        session = FolderSession(kernel)
        kernel.wait_for_reply(session.open(self.folder))
        fields: dict[str, Any] = {
            "modelName": self.model,
            "query": self.prompt,
            "session": self.session,
            "tools": None if self.tools is None else list(self.tools),
            "allow": list(self.allow),
            "asks": self.can_ask,
            "rounds": self.rounds,
            "detailed": True,
            "within": self.within,
            "planFirst": self.plan_first,
        }
        number = self.conversation_id or make_conversation_id()
        return TurnStream(session, "beginAgentTurn", number, fields)


@contextmanager
def begin_agent_turn(args: argparse.Namespace, *, can_ask: bool) -> Iterator[TurnStream]:
    """Attach to the kernel and make the turn of a command ready. Raises KernelError."""
    prompt = " ".join(args.prompt)
    if not prompt.strip():
        raise WrongParam("The prompt is empty: say what is to be done.")
    if not Path(args.root).is_dir():
        raise WrongParam(f"{args.root} is no folder: --root must be the folder to work in.")
    root = WorkspaceRoot.from_path(Path(args.root)).folder
    user_data = open_user_data(args.user_data, os.environ)
    settings = model_selection.load_settings(user_data.settings_file)
    selection = model_selection.choose_usable_model(settings, args.model, user_data, os.environ)
    task = AgentTask(
        prompt,
        root,
        selection.name,
        (args.resume or "").strip().lower(),
        _find_conversation(user_data, args.resume, root),
        args.tools and [name for each in args.tools.split(",") if (name := each.strip())],
        args.allow,
        can_ask,
        args.rounds,
        plan_first=bool(args.stdio or args.uap),
    )
    with open_kernel(args, user_data, "agent") as kernel:
        selection.offer_to(kernel)
        yield task.begin(kernel)


def _find_conversation(user_data: UserData, resumed: str | None, folder: Path) -> int:
    """Return the conversation of a session that is resumed, 0 if there is none."""
    if not resumed:
        return 0
    session = AgentSessionStore(user_data.root).load(resumed)
    if session.root != folder:
        raise KernelError(
            f"The session {session.id} is about another folder: resume it there, or say"
            f" --root {session.root}"
        )
    return session.conversation_id


class AgentEventReader:
    """Reads the parts of one turn; a message that grows is read as what was added to it."""

    def __init__(self) -> None:
        self._blocks: list[str] = []  # texts of the message that grows, as far as they were read
        self._tool_names: dict[str, str] = {}
        self._tool_data: dict[str, Any] = {}
        self._answer: list[str] = []  # texts since the last tool
        self._has_failed = False

    def read(self, part: Part) -> Iterator[AgentEvent]:
        """Yield what happened."""
        if isinstance(part, RefusedByKernel):
            self._has_failed = True
            yield TurnFailed(part.status, str(part))
        elif part["type"] != "done":
            yield from self._read_part(part)
        elif not self._has_failed:
            is_done = part["outcome"] == "done"
            failed = TurnFailed(KernelError.code, STOPPED_MESSAGE)
            yield AgentFinished("".join(self._answer)) if is_done else failed

    def _read_part(self, part: Mapping[str, Any]) -> Iterator[AgentEvent]:
        content = part["content"]
        match part["type"]:
            case "session":
                yield AgentSessionOpened(content, tuple(part["unknownTools"]))
            case "round":
                yield RoundStarted(content)
            case "calls":
                calls = (AgentToolUsed(it["id"], it["name"], it["input"]) for it in content)
                yield AgentCallsQueued(tuple(calls))
            case "toolData":
                self._tool_data[content["toolUseId"]] = content["data"]
            case "permission":
                yield PermissionRequested(
                    content["toolUseId"], content["tool"], content["danger"], content["input"]
                )
            case "permissionAnswered":
                yield PermissionSettled(
                    content["toolUseId"], content["allowed"], content["device"], content["name"]
                )
            case "message":
                yield from self._read_message(content)

    def _read_message(self, message: Mapping[str, Any]) -> Iterator[AgentEvent]:
        if message["role"] == "user":
            yield from self._read_answer(message["content"][0])
            return
        yield from self._read_growth(message["content"])
        if message["meta"]["complete"]:
            self._blocks = []

    def _read_answer(self, block: Mapping[str, Any]) -> Iterator[AgentEvent]:
        self._answer = []
        if block["type"] == "text":
            yield TurnReminded(block["text"])
            return
        name, success = block["tool_use_id"], not block.get("is_error", False)
        tool, data = self._tool_names.pop(name, ""), self._tool_data.pop(name, {})
        yield AgentToolReturned(name, block["content"], success, name=tool, data=data)

    def _read_growth(self, blocks: list[dict[str, Any]]) -> Iterator[AgentEvent]:
        for number, block in enumerate(blocks):
            text = block.get("text", block.get("thinking", ""))
            if number == len(self._blocks):
                self._blocks.append("")
                if block["type"] == "tool_use":
                    self._tool_names[block["id"]] = block["name"]
                    yield AgentToolUsed(block["id"], block["name"], block["input"])
            added = text[len(self._blocks[number]) :]
            self._blocks[number] = text
            if added and block["type"] == "text":
                self._answer.append(added)
                yield AgentTextDelta(added)
            elif added:
                yield AgentThinkingDelta(added)
