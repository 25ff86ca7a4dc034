"""``codekernel acp`` as an editor uses it: the official SDK's client, a real shared kernel."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, cast

import pytest
from acp import RequestError
from codekernel.adapters.acp.backend import AcpBackend
from codekernel.adapters.acp.turn_changes import TurnRecorder
from codekernel.domain.agent_sessions import (
    Actor,
    Device,
    NewMessage,
    PermissionAnswer,
    PermissionStatus,
)
from codekernel.domain.chat import AgentMessage
from codekernel.domain.settings import AgentCommand
from codekernel.sync.agents import AgentUpdate
from support.chat_server import (
    ChatServer,
    ScriptedAnswer,
    WaitForDisconnect,
    WaitForEvent,
    delta,
    end_reply,
    reply_calls,
    reply_text,
)
from support.conversation_client import chat_settings, write_sources
from support.editor_world import BEGIN, Editor, EditorWorld, prompt_step
from support.polling import wait_until

SKIP = ("plan", {"action": "skip"})
RUN = ("run_command", {"command": "echo heard > heard.txt"})
CREATE = ("create_file", {"path": "new.txt", "content": "hello\n"})


@pytest.fixture
def make_world(user_data: Path, repo: Path) -> Iterator["MakeWorld"]:
    """Makes a world with a scripted model; the kernel ends with the test."""
    with ExitStack() as resources:

        def make(script: list[ScriptedAnswer]) -> EditorWorld:
            server = resources.enter_context(ChatServer(script))
            chat_settings(user_data, server.url)
            write_sources(repo)
            world = EditorWorld(user_data, repo)
            resources.enter_context(world.kernel)
            return world

        yield make


MakeWorld = Callable[[list[ScriptedAnswer]], EditorWorld]


def test_a_prompt_is_answered_with_thoughts_tools_diffs_and_text(make_world: MakeWorld) -> None:
    world = make_world([reply_calls(SKIP), reply_calls(CREATE), reply_text("All ", "done.")])

    async def use(editor: Editor) -> None:
        session = await world.start(editor)
        assert await editor.prompt(session, "Make new.txt.") == "end_turn"
        assert editor.text() == "All done."
        assert editor.text("user_message_chunk") == ""
        (start,) = [
            it for it in editor.updates if getattr(it, "title", "") == "create_file: new.txt"
        ]
        assert (start.kind, start.locations[0].path) == ("edit", str(world.repo / "new.txt"))
        (end,) = [
            it
            for it in editor.updates
            if it.session_update == "tool_call_update" and it.tool_call_id == start.tool_call_id
        ]
        assert end.status == "completed"
        assert start.content[0].new_text == "hello\n"
        assert start.content[0].old_text is None

    world.use(use)
    assert (world.repo / "new.txt").read_text() == "hello\n"


@pytest.mark.parametrize(
    ("kind", "is_run"), [("allow_once", True), ("allow_always", True), ("reject_once", False)]
)
def test_the_editor_is_asked_before_something_is_run(
    make_world: MakeWorld, kind: str, *, is_run: bool
) -> None:
    world = make_world([reply_calls(SKIP), reply_calls(RUN), reply_calls(RUN), reply_text("So.")])

    async def use(editor: Editor) -> None:
        async def answer() -> str:
            return kind

        editor.answer = answer
        session = await world.start(editor)
        assert await editor.prompt(session, "Run it.") == "end_turn"
        assert len(editor.asked) == (1 if kind == "allow_always" else 2)
        first = editor.asked[0]
        assert (first.kind, first.title) == ("execute", "run_command: echo heard > heard.txt")
        assert [it.kind for it in editor.offered[0]] == [
            "allow_once",
            "allow_always",
            "reject_once",
        ]
        with closing(world.open_sessions()) as sessions:
            (*_, permission) = sessions.list_permissions(session)
            assert permission.answered_by == Actor(Device.EDITOR, "Zed")

    world.use(use)
    assert (world.repo / "heard.txt").exists() is is_run


def test_the_first_answer_wins_and_the_question_is_taken_back(make_world: MakeWorld) -> None:
    """With a client on the TypeScript SDK, which tells that a request is cancelled."""
    world = make_world([reply_calls(SKIP), reply_calls(RUN), reply_text("So.")])
    lines: list[dict[str, Any]] = []
    for line in world.run_typescript("nobody", *BEGIN, prompt_step("Run it.")):
        lines.append(line)
        if "permission" in line:
            session = line["permission"]["sessionId"]
            with closing(world.open_sessions()) as sessions:
                (waiting,) = sessions.get_session(session).pending_permissions
                answer = PermissionAnswer(allowed=True, actor=Actor(Device.LARK, "Ada"))
                settled = sessions.answer_permission(session, waiting.id, answer)
                assert settled.status is PermissionStatus.APPROVED
    (asked,) = [each["permission"] for each in lines if "permission" in each]
    assert {"takenBack": asked["toolCall"]["toolCallId"]} in lines
    assert {"method": "session/prompt", "result": {"stopReason": "end_turn"}} in lines
    assert lines[-1] == {"exit": 0}
    assert (world.repo / "heard.txt").exists()


def test_a_client_of_the_typescript_sdk_uses_every_request(make_world: MakeWorld) -> None:
    world = make_world([reply_calls(SKIP), reply_calls(CREATE), reply_text("Done.")])
    session = {"sessionId": "$SESSION"}
    steps = [
        ["session/set_mode", {**session, "modeId": "read-only"}],
        ["session/set_mode", {**session, "modeId": "default"}],
        ["session/set_config_option", {**session, "configId": "model", "value": "model"}],
        prompt_step("Make new.txt."),
        ["session/list", {"cwd": str(world.repo)}],
        ["session/load", {**session, "cwd": str(world.repo), "mcpServers": []}],
        ["session/load", {"sessionId": "none", "cwd": "/", "mcpServers": []}],
    ]
    lines = list(world.run_typescript("allow_once", *BEGIN, *steps))
    answers = [each for each in lines if "method" in each]
    assert [each["method"] for each in answers] == [step[0] for step in (*BEGIN, *steps)]
    assert ["error" in each for each in answers] == [False] * 8 + [True]
    (listed,) = answers[6]["result"]["sessions"]
    assert listed["title"] == "Make new.txt."
    kinds = [each["update"]["sessionUpdate"] for each in lines if "update" in each]
    assert {"tool_call", "tool_call_update", "agent_message_chunk"} <= set(kinds)
    assert kinds.count("user_message_chunk") == 1  # when it was loaded
    assert lines[-1] == {"exit": 0}


def test_a_permission_that_a_client_of_the_typescript_sdk_cancels_ends_the_turn(
    make_world: MakeWorld,
) -> None:
    world = make_world([reply_calls(SKIP), reply_calls(RUN), reply_text("never")])
    lines = list(world.run_typescript("cancel", *BEGIN, prompt_step("Run it.")))
    assert {"method": "session/prompt", "result": {"stopReason": "cancelled"}} in lines
    assert not (world.repo / "heard.txt").exists()


def test_cancelling_ends_the_turn(make_world: MakeWorld) -> None:
    world = make_world([[delta("I am "), WaitForDisconnect()]])

    async def use(editor: Editor) -> None:
        session = await world.start(editor)
        running = asyncio.create_task(editor.prompt(session, "Go."))
        await editor.wait_for("I ")
        await editor.connection.cancel(session_id=session)
        assert await running == "cancelled"

    world.use(use)


def test_cancelling_while_a_permission_waits_ends_the_turn(make_world: MakeWorld) -> None:
    world = make_world([reply_calls(SKIP), reply_calls(RUN), reply_text("never")])

    async def use(editor: Editor) -> None:
        session = await world.start(editor)

        async def cancel() -> None:
            await editor.connection.cancel(session_id=session)

        editor.answer = cancel
        assert await editor.prompt(session, "Go.") == "cancelled"

    world.use(use)
    assert not (world.repo / "heard.txt").exists()


def test_an_agent_goes_on_without_its_editor_and_is_loaded_by_the_next(
    make_world: MakeWorld,
) -> None:
    begun: list[str] = []
    go_on = threading.Event()
    world = make_world([[delta("I "), WaitForEvent(go_on), delta("went on."), *end_reply()]])

    async def leave(editor: Editor) -> None:
        session = await world.start(editor)
        begun.append(session)
        running = asyncio.create_task(editor.prompt(session, "Go."))
        await editor.wait_for("I ")
        running.cancel()

    async def come_back(editor: Editor) -> None:
        listed = await editor.connection.list_sessions(cwd=str(world.repo))
        assert [(it.session_id, it.title) for it in listed.sessions] == [(begun[0], "Go.")]
        assert (await editor.connection.list_sessions(cwd="/")).sessions == []
        await editor.connection.load_session(
            cwd=str(world.repo), session_id=begun[0], mcp_servers=[]
        )
        assert editor.text("user_message_chunk") == "Go."
        assert editor.text() == "I went on."

    world.use(leave)
    with closing(world.open_sessions()) as sessions:
        assert sessions.get_session(begun[0]).is_thinking
        go_on.set()
        wait_until(lambda: not sessions.get_session(begun[0]).is_thinking)
    world.use(come_back)


def test_modes_and_models_are_offered_and_set(make_world: MakeWorld) -> None:
    world = make_world([reply_calls(SKIP), reply_calls(RUN), reply_text("So.")])

    async def use(editor: Editor) -> None:
        new = await editor.connection.new_session(cwd=str(world.repo), mcp_servers=[])
        assert new.modes
        assert new.modes.current_mode_id == "default"
        assert {mode.id for mode in new.modes.available_modes} == {"default", "read-only", "yolo"}
        assert new.config_options
        assert cast("Any", new.config_options[0]).current_value == "model"
        await editor.connection.set_session_mode(session_id=new.session_id, mode_id="yolo")
        await editor.connection.set_config_option(
            session_id=new.session_id, config_id="model", value="model"
        )
        with pytest.raises(RequestError):
            await editor.connection.set_session_mode(session_id=new.session_id, mode_id="x")
        assert await editor.prompt(new.session_id, "Go.") == "end_turn"
        assert editor.asked == []

    world.use(use)
    assert (world.repo / "heard.txt").exists()


def test_what_another_device_says_is_shown(make_world: MakeWorld) -> None:
    world = make_world([reply_text("Hello phone.")])

    async def use(editor: Editor) -> None:
        session = await world.start(editor)
        with closing(world.open_sessions()) as sessions:
            sessions.send_message(session, NewMessage("Hi.", Actor(Device.TELEGRAM)))
        await editor.wait_for("Hello phone.")
        assert editor.text("user_message_chunk") == "Hi."

    world.use(use)


def test_errors_are_answers_with_a_sentence(make_world: MakeWorld) -> None:
    world = make_world([reply_text("x")])
    (world.user_data / "settings.json").unlink()

    async def use(editor: Editor) -> None:
        for wrong in ("relative", "/nonexistent/folder"):
            with pytest.raises(RequestError):
                await editor.connection.new_session(cwd=wrong, mcp_servers=[])
        with pytest.raises(RequestError):
            await editor.connection.load_session(cwd="/", session_id="none", mcp_servers=[])
        session = await world.start(editor)
        with pytest.raises(RequestError, match="chat model"):
            await editor.prompt(session, "Go.")

    world.use(use)


def test_a_kernel_that_is_killed_ends_the_turn_and_not_the_editor(make_world: MakeWorld) -> None:
    world = make_world([[delta("I am "), WaitForDisconnect()], reply_text("Again.")])

    async def use(editor: Editor) -> None:
        session = await world.start(editor)
        running = asyncio.create_task(editor.prompt(session, "Go."))
        await editor.wait_for("I ")
        await asyncio.to_thread(world.kernel.kill)
        assert await running == "cancelled"
        assert "The kernel ended during this turn." in editor.text()
        assert await editor.prompt(session, "Once more.") == "end_turn"
        assert "Again." in editor.text()

    world.use(use)


def test_our_client_drives_our_agent(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(
        [reply_calls(SKIP), reply_calls(CREATE), reply_calls(RUN), reply_text("Done.")]
    )
    command = AgentCommand("own", world.words[0], tuple(world.words[1:]), world.environ)
    recorded = tmp_path / "other"
    recorded.mkdir()
    backend = AcpBackend(command, TurnRecorder(recorded))
    backend.on_permission_request(
        lambda asked: backend.respond_to_permission(asked.id, allowed=True, option_id="")
    )
    updates: list[AgentUpdate] = []
    try:
        name = backend.new_session(world.repo)
        assert backend.prompt(name, "Go.", updates.append) == "end_turn"
    finally:
        backend.disconnect()
    blocks = [
        block.to_json()
        for it in updates
        if isinstance(it, AgentMessage) and it.meta.get("complete", True)
        for block in it.content
    ]
    kinds = [each.get("name") for each in blocks if each["type"] == "tool_use"]
    assert kinds == ["think", "edit", "execute", "changes"]
    assert {"type": "text", "text": "Done."} in blocks
    assert blocks[-2]["input"]["files"] == ["heard.txt (created)", "new.txt (created)"]
