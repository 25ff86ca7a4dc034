import threading
from pathlib import Path
from typing import Any

import pytest
from codekernel.domain.agent_sessions import PermissionAnswer, PermissionOption
from codekernel.domain.chat import (
    AgentMessage,
    ContentBlock,
    TextContent,
    ThinkingContent,
    ToolResultContent,
    ToolUseContent,
)
from support.scripted_agent import DESK, ScriptedTurn
from support.telegram_world import ANN, BOB, EVE, TelegramWorld, open_telegram

TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
GROUP = -1_000_000_000_555


def act(turn: ScriptedTurn, role: str, *blocks: ContentBlock) -> None:
    turn.update(AgentMessage(role, blocks))


def list_files(turn: ScriptedTurn) -> None:
    """The example of document 004."""
    act(
        turn,
        "assistant",
        ThinkingContent("用户想要查看文件..."),
        ToolUseContent("call_1", "ls", {"path": "./src"}),
    )
    act(turn, "user", ToolResultContent("call_1", "index.ts\nutils.ts"))
    act(turn, "assistant", TextContent("目录中包含 **index.ts** 和 `utils.ts`。"))


def test_a_whole_conversation_is_in_the_chat(user_data: Path) -> None:
    with open_telegram(user_data, list_files) as world:
        world.begin()
        world.api.say(ANN, "what is in src?")
        answer = world.wait_for_end("目录中包含 index.ts 和 utils.ts。")
        assert answer.text == (
            "💭 用户想要查看文件...\n✅ ls path: ./src\nindex.ts\nutils.ts\n"
            "目录中包含 index.ts 和 utils.ts。"
        )
        assert [each["type"] for each in answer.entities] == [
            "expandable_blockquote",
            "bold",
            "code",
            "expandable_blockquote",
            "bold",
            "code",
        ]
        assert world.engine.agent.prompts[0][1] == "what is in src?"


def test_a_tool_runs_and_then_has_succeeded_in_the_same_message(user_data: Path) -> None:
    may_go_on = threading.Event()

    def run_tool(turn: ScriptedTurn) -> None:
        act(turn, "assistant", ToolUseContent("1", "build", {}))
        assert may_go_on.wait(60)
        act(turn, "user", ToolResultContent("1", "it broke", is_error=True))

    with open_telegram(user_data, run_tool) as world:
        world.begin()
        world.api.say(ANN, "build it")
        running = world.wait_for("⏳ build")
        may_go_on.set()
        assert world.wait_for_end("❌ build\nit broke").id == running.id


def test_what_is_said_on_another_device_is_shown_with_its_speaker(user_data: Path) -> None:
    with open_telegram(user_data) as world:
        session = world.begin()
        world.engine.send(session, "from elsewhere")
        answer = world.wait_for("did from elsewhere")
        assert answer.text.startswith("👤 Ann (Lark)\nfrom elsewhere")


def test_strangers_get_one_polite_line_and_nothing_else(user_data: Path) -> None:
    with open_telegram(user_data) as world:
        world.begin()
        for text in ("hello", "/sessions", "/bind WRONG", "/new repo"):
            world.api.say(EVE, text, name="Eve")
        world.api.say(ANN, "hi")
        world.wait_for("did hi")
        assert len(world.texts(EVE)) == 1
        assert world.texts(EVE)[0].startswith("This bot is private.")
        assert [text for _, text in world.engine.agent.prompts] == ["hi"]


def test_a_stranger_cannot_press_a_button(user_data: Path) -> None:
    with open_telegram(user_data, lambda turn: turn.say(str(turn.ask()))) as world:
        world.begin()
        world.api.say(ANN, "go")
        asked = world.wait_for("asks to use run_command")
        query = world.api.press(EVE, asked, "Allow", name="Eve")
        world.api.wait_until(lambda: bool(world.api.callback_answers[query]))
        assert world.api.callback_answers[query] == "Only bound users may decide."
        assert world.engine.agent.responses == []
        world.api.press(ANN, asked, "Deny")
        world.wait_for("False")


def test_a_permission_shows_who_decided_and_a_late_press_says_so(user_data: Path) -> None:
    with open_telegram(user_data, lambda turn: turn.say(f"allowed: {turn.ask()}")) as world:
        world.begin()
        world.api.say(ANN, "go")
        asked = world.wait_for("asks to use run_command")
        assert asked.labels == ["Allow", "Allow for this turn", "Deny"]
        data = asked.keyboard[0][0]["callback_data"]
        world.api.press(ANN, asked, "Allow")
        world.wait_for("allowed: True")
        decided = world.wait_for("Allowed by Ann (Telegram).")
        assert decided.id == asked.id
        assert decided.labels == []
        query = world.api.press_data(ANN, asked, data)
        world.api.wait_until(lambda: bool(world.api.callback_answers[query]))
        assert world.api.callback_answers[query] == "Too late. Allowed by Ann (Telegram)."
        assert len(world.engine.agent.responses) == 1


def test_a_decision_elsewhere_is_shown_in_the_chat(user_data: Path) -> None:
    with open_telegram(user_data, lambda turn: turn.say(str(turn.ask()))) as world:
        session = world.begin()
        world.api.say(ANN, "go")
        asked = world.wait_for("asks to use run_command")
        answer = PermissionAnswer(allowed=False, actor=DESK)
        world.engine.engine.answer_permission(session, "p1", answer)
        assert world.wait_for("Denied by Bob (the web page).").id == asked.id


def test_the_options_of_a_foreign_agent_are_its_buttons(user_data: Path) -> None:
    options = (
        PermissionOption("a", "Yes, always", "allow_always"),
        PermissionOption("r", "No", "reject_once"),
    )
    with open_telegram(user_data, lambda turn: turn.say(str(turn.ask(options=options)))) as world:
        world.begin()
        world.api.say(ANN, "go")
        asked = world.wait_for("asks to use run_command")
        assert asked.labels == ["Yes, always", "No"]
        world.api.press(ANN, asked, "Yes, always")
        world.wait_for("Allowed (Yes, always) by Ann (Telegram).")
        assert world.engine.agent.responses == [("p1", True, "a")]


def test_a_button_works_after_a_restart(user_data: Path) -> None:
    with open_telegram(user_data, lambda turn: turn.say(f"allowed: {turn.ask()}")) as world:
        world.begin()
        world.api.say(ANN, "go")
        asked = world.wait_for("asks to use run_command")
        world.restart()
        world.api.press(ANN, asked, "Allow for this turn")
        world.wait_for("allowed: True")
        assert world.wait_for("Allowed for this turn by Ann").id == asked.id


def test_secrets_do_not_reach_the_chat(user_data: Path) -> None:
    def leak(turn: ScriptedTurn) -> None:
        act(
            turn,
            "assistant",
            ThinkingContent(f"the token is {TOKEN}"),
            ToolUseContent("1", "run", {"command": f"login {TOKEN}"}),
        )
        act(turn, "user", ToolResultContent("1", f"logged in with {TOKEN}", diff=f"+{TOKEN}"))
        turn.say(f"I used {TOKEN}")
        turn.say("end")

    with open_telegram(user_data, leak) as world:
        world.begin()
        world.api.say(ANN, "log in")
        world.wait_for("end")
        assert TOKEN not in "".join(world.texts())
        assert "".join(world.texts()).count("[masked: GitHub token]") == 4


def test_only_notices_are_sent_where_that_is_wanted(user_data: Path) -> None:
    def work(turn: ScriptedTurn) -> None:
        turn.say("secret plans")
        turn.say(f"allowed: {turn.ask()}")

    with open_telegram(user_data, work, notices_only=True) as world:
        world.begin()
        world.api.say(ANN, "go")
        asked = world.wait_for("asks to use run_command")
        assert "ls" not in asked.text
        world.api.press(ANN, asked, "Allow")
        world.wait_for("go is done.")
        assert not any("secret plans" in text for text in world.texts())
        world.api.say(ANN, "/notices off")
        world.wait_for("Everything is sent here.")
        world.api.say(ANN, "again")
        # The answered one of before is shown in full, too.
        asked = world.api.wait_for_text(ANN, "command: ls", button="Allow")
        world.api.press(ANN, asked, "Allow")
        world.wait_for("secret plans")


def test_a_message_while_the_agent_works_is_queued(user_data: Path) -> None:
    may_go_on = threading.Event()

    def wait(turn: ScriptedTurn) -> None:
        assert may_go_on.wait(60)
        turn.say(f"did {turn.text}")

    with open_telegram(user_data, wait) as world:
        world.begin()
        world.api.say(ANN, "one")
        world.wait_for("working")
        world.api.say(ANN, "two")
        world.wait_for("Queued")
        may_go_on.set()
        first, second = world.wait_for("did one"), world.wait_for("did two")
        assert first.id < second.id


def test_stop_ends_the_turn(user_data: Path) -> None:
    with open_telegram(user_data, lambda turn: turn.cancelled.wait(60)) as world:
        session = world.begin()
        world.api.say(ANN, "go")
        world.wait_for("working")
        world.api.say(ANN, "/stop")
        world.wait_for("Stopped by Ann.")
        world.engine.wait_until_idle(session)
        assert world.engine.agent.prompts == [("own-1", "go")]


def test_a_long_answer_is_a_document(user_data: Path) -> None:
    text = "\n".join(f"line {number} 😀" for number in range(60_000))
    with open_telegram(user_data, lambda turn: turn.say(text)) as world:
        world.begin()
        world.api.say(ANN, "all of it")
        api = world.api
        api.wait_until(lambda: any(it.document for it in api.list_messages(ANN)))
        (document,) = [it.document for it in api.list_messages(ANN) if it.document]
        assert document.decode() == text
        assert "the rest is in the document" in api.list_messages(ANN)[-2].text


def test_a_group_follows_a_session_and_hears_only_bound_users(user_data: Path) -> None:
    with open_telegram(user_data) as world:
        world.bind()
        world.api.say(EVE, "/new repo scripted", chat_id=GROUP, name="Eve")
        world.api.say(ANN, "/new@code_test_bot repo scripted", chat_id=GROUP)
        world.wait_for("Started", GROUP)
        world.api.say(ANN, "/stop@other_bot", chat_id=GROUP)
        world.api.say(EVE, "@code_test_bot drop everything", chat_id=GROUP, name="Eve")
        world.api.say(ANN, "@code_test_bot hello", chat_id=GROUP)
        world.wait_for("did hello", GROUP)
        assert len(world.api.list_messages(GROUP)) == 2
        assert world.engine.agent.prompts == [("own-1", "hello")]


def test_two_chats_can_follow_one_session(user_data: Path) -> None:
    with open_telegram(user_data) as world:
        session = world.begin()
        world.bind(BOB, "Bob")
        world.api.say(BOB, f"/switch {session[:8]}", name="Bob")
        world.wait_for("This chat follows", BOB)
        world.api.say(ANN, "hello")
        world.wait_for("did hello", ANN)
        assert world.wait_for("did hello", BOB).text.startswith("👤 Ann (Telegram)\nhello")


def test_a_chat_that_is_blocked_holds_up_nobody(user_data: Path) -> None:
    with open_telegram(user_data) as world:
        session = world.begin()
        world.bind(BOB, "Bob")
        world.api.say(BOB, f"/switch {session}", name="Bob")
        world.wait_for("This chat follows", BOB)
        world.api.block(BOB)
        world.api.say(ANN, "hello")
        world.wait_for("did hello", ANN)
        world.api.say(ANN, "more")
        world.wait_for("did more", ANN)
        assert world.bindings.get_chat(str(BOB)).session_id in {"", session}


def test_a_deleted_session_is_told(user_data: Path) -> None:
    with open_telegram(user_data) as world:
        session = world.begin()
        world.engine.engine.delete_session(session)
        world.wait_for("The session of this chat was deleted")
        world.api.say(ANN, "hello")
        world.wait_for("Where shall the agent work?")
        assert world.engine.agent.prompts == []


@pytest.fixture
def world(user_data: Path) -> Any:
    with open_telegram(user_data) as opened:
        yield opened


def test_a_chat_without_a_session_is_offered_one(world: TelegramWorld) -> None:
    world.bind()
    world.api.say(ANN, "hello")
    offered = world.wait_for("Where shall the agent work?")
    assert offered.labels == ["repo"]
    world.api.press(ANN, offered, "repo")
    world.wait_for("No agent called 'codekernel' is registered")


def test_a_message_that_no_text_has_is_answered(world: TelegramWorld) -> None:
    world.begin()
    world.api.say(ANN, "")
    world.wait_for("Only text can be sent")
    assert world.engine.agent.prompts == []


def test_an_update_that_nobody_understands_holds_up_nothing(world: TelegramWorld) -> None:
    world.begin()
    world.api.add_update("message", {"message_id": 1})
    world.api.add_update("callback_query", {"id": "x", "from": {"id": ANN}, "message": {}})
    world.api.say(ANN, "hello")
    world.wait_for("did hello")
    assert world.engine.agent.prompts == [("own-1", "hello")]
