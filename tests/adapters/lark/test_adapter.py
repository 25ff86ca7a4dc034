"""A person in Lark and an agent: turns as cards, devices beside each other, restarts, refusals."""

import threading
from pathlib import Path
from typing import Any

import pytest
from codekernel.domain.agent_sessions import NewMessage
from codekernel.domain.chat import (
    AgentMessage,
    TextContent,
    ThinkingContent,
    ToolResultContent,
    ToolUseContent,
)
from codekernel.errors import NetworkError
from support.lark_platform import RATE_REFUSAL
from support.lark_world import CHAT, LarkWorld, get_color, open_lark_world, read_card
from support.polling import wait_until
from support.scripted_agent import DESK, WAIT_SECONDS, ScriptedTurn

TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


def count_turn_cards(world: LarkWorld) -> int:
    """Return the cards that are no replies to commands."""
    return sum(get_color(card) != "blue" for card in world.platform.list_cards(CHAT))


def test_a_message_reaches_the_agent_and_its_turn_is_one_card(world: LarkWorld) -> None:
    world.follow_session()
    world.platform.say("tidy up")
    card = world.wait_for_text("Done")
    assert "did tidy up" in read_card(card)
    assert get_color(card) == "green"
    assert [text for _, text in world.engine.agent.prompts] == ["tidy up"]
    assert count_turn_cards(world) == 1


def test_a_card_follows_its_turn_from_thinking_to_the_answer(world: LarkWorld) -> None:
    steps = {name: threading.Event() for name in ("tool", "result", "answer")}

    def turn(of: ScriptedTurn) -> None:
        call = ToolUseContent("call_1", "ls", {"path": "./src"})
        of.update(AgentMessage("assistant", (ThinkingContent("用户想要查看文件..."),)))
        assert steps["tool"].wait(WAIT_SECONDS)
        of.update(AgentMessage("assistant", (call,)))
        assert steps["result"].wait(WAIT_SECONDS)
        of.update(AgentMessage("user", (ToolResultContent("call_1", "index.ts\nutils.ts"),)))
        of.say("目录中\n", id="grows", complete=False)
        assert steps["answer"].wait(WAIT_SECONDS)
        of.say("目录中\n包含 index.ts", id="grows", complete=True)

    world.engine.agent.turn = turn
    world.follow_session()
    world.platform.say("look")
    card = world.wait_for_text("用户想要查看文件...")
    assert get_color(card) == "wathet"
    steps["tool"].set()
    world.wait_for_text("⏳ **`ls`** `./src` Running")
    steps["result"].set()
    card = world.wait_for_text("✅ **`ls`** `./src` Success")
    world.wait_for_text("目录中")
    steps["answer"].set()
    card = world.wait_for_text("包含 index.ts")
    world.wait_for_text("Done")
    assert count_turn_cards(world) == 1


def test_what_is_asked_elsewhere_is_shown_with_its_question(world: LarkWorld) -> None:
    session_id = world.follow_session()
    world.engine.engine.send_message(session_id, NewMessage("from <the> desk", DESK))
    card = world.wait_for_text("did from")
    assert "> from &#60;the&#62; desk" in read_card(card)


def test_an_event_that_comes_twice_is_handled_once(world: LarkWorld) -> None:
    world.follow_session()
    event = world.platform.say("once", parts=3)
    world.wait_for_text("did once")
    event.answered.clear()
    world.platform._deliver(event, 1)
    world.platform.wait_until(event.answered.is_set)
    world.platform.say("after")
    world.wait_for_text("did after")
    assert [text for _, text in world.engine.agent.prompts] == ["once", "after"]


def test_a_failed_turn_is_red_and_says_why(world: LarkWorld) -> None:
    def turn(_: ScriptedTurn) -> None:
        raise NetworkError("the model is away")

    world.engine.agent.turn = turn
    world.follow_session()
    world.platform.say("go")
    card = world.wait_for_text("Failed")
    assert get_color(card) == "red"
    assert "the model is away" in read_card(card)


def test_secrets_do_not_leave_the_machine(world: LarkWorld) -> None:
    def turn(of: ScriptedTurn) -> None:
        of.update(AgentMessage("assistant", (ToolUseContent("1", "Bash", {"command": TOKEN}),)))
        of.update(AgentMessage("user", (ToolResultContent("1", TOKEN, diff=f"+{TOKEN}"),)))
        of.update(AgentMessage("assistant", (ThinkingContent(TOKEN), TextContent(TOKEN))))

    world.engine.agent.turn = turn
    session_id = world.follow_session()
    # It is the name of the session, too.
    world.engine.engine.send_message(session_id, NewMessage(f"use {TOKEN}", DESK))
    world.wait_for_text("Done")
    world.platform.say("/sessions")
    world.wait_for_text("waits for you")
    sent = [version for each in world.platform.messages.values() for version in each.versions]
    assert "[masked: " in str(sent)
    assert TOKEN not in str(sent)


def test_a_long_answer_goes_on_in_further_cards_and_nothing_is_lost(world: LarkWorld) -> None:
    words = [f"word{number}" for number in range(12_000)]
    world.engine.agent.turn = lambda of: of.say(" ".join(words))
    world.follow_session()
    world.platform.say("go")
    world.wait_for_text("Done")
    # New cards go first: the first one is filled when the last is there.
    world.platform.wait_until(lambda: list_words(world) == words)
    assert count_turn_cards(world) > 3
    assert world.platform.refused == []


def list_words(world: LarkWorld) -> list[str]:
    cards = [card for card in world.platform.list_cards(CHAT) if get_color(card) != "blue"]
    shown = " ".join(read_card(card) for card in cards).split()
    return [word for word in shown if word.startswith("word")]


def test_fast_growth_stays_within_the_rates_and_ends_in_the_last_state(world: LarkWorld) -> None:
    def turn(of: ScriptedTurn) -> None:
        for number in range(400):
            of.say(f"line {number}\n" * 3, id="grows", complete=False)
            of.cancelled.wait(0.005)
        of.say("the end", id="grows", complete=True)

    world.engine.agent.turn = turn
    world.follow_session()
    world.platform.say("go")
    card = world.wait_for_text("Done")
    assert "the end" in read_card(card)
    assert "line" not in read_card(card)
    assert world.platform.refused == []


def test_a_restart_in_the_middle_of_a_turn_neither_loses_nor_repeats(world: LarkWorld) -> None:
    began, go_on = threading.Event(), threading.Event()

    def turn(of: ScriptedTurn) -> None:
        of.say("the beginning")
        began.set()
        assert go_on.wait(WAIT_SECONDS)
        of.say("the end")

    world.engine.agent.turn = turn
    world.follow_session()
    world.platform.say("go")
    assert began.wait(WAIT_SECONDS)
    world.wait_for_text("the beginning")
    world.stop_adapter()
    event = world.platform.say("next")
    go_on.set()
    world.engine.wait_until_idle(world.get_binding().session_id)
    world.start_adapter()
    world.platform.wait_until(event.answered.is_set)
    world.platform.wait_until(lambda: count_turn_cards(world) == 2)
    world.wait_for_text("the end")
    world.platform.wait_until(
        lambda: [get_color(card) for card in world.platform.list_cards(CHAT)][1:] == ["green"] * 2
    )


def test_a_platform_that_restarts_gets_what_it_missed(world: LarkWorld) -> None:
    world.follow_session()
    world.platform.stop()
    session_id = world.get_binding().session_id
    world.engine.send(session_id, "while it is away")
    world.engine.wait_until_idle(session_id)
    world.platform.start()
    world.wait_for_text("did while it is away")
    world.platform.say("after")
    world.wait_for_text("did after")
    assert count_turn_cards(world) == 2


def test_refusals_by_rate_and_errors_are_waited_out(world: LarkWorld) -> None:
    world.follow_session()
    broken: dict[str, Any] = {"code": 2200, "msg": "Internal Error"}
    too_often: dict[str, Any] = {"code": 230020, "msg": "frequency limit"}
    world.platform.faults.refusals.extend([RATE_REFUSAL, (500, broken, {}), (400, too_often, {})])
    world.platform.say("go")
    world.wait_for_text("did go")
    assert world.platform.refused == [99991400, 2200, 230020]
    assert count_turn_cards(world) == 1


def test_a_card_whose_answer_was_lost_is_not_sent_twice_and_shows_the_newest(
    world: LarkWorld,
) -> None:
    def turn(of: ScriptedTurn) -> None:
        world.platform.wait_until(lambda: count_turn_cards(world) == 1)
        of.say("the newest")

    world.engine.agent.turn = turn
    world.follow_session()
    world.platform.faults.lost_answers = 1
    world.platform.say("go")
    card = world.wait_for_text("Done")
    assert "the newest" in read_card(card)
    assert count_turn_cards(world) == 1


def test_a_token_that_has_ended_is_renewed(world: LarkWorld) -> None:
    world.follow_session()
    world.platform.tokens.clear()
    world.platform.say("go")
    world.wait_for_text("did go")
    assert len(world.platform.tokens) == 1


def test_a_card_that_the_platform_refuses_is_sent_as_plain_text(world: LarkWorld) -> None:
    world.follow_session()
    refusal: dict[str, Any] = {"code": 230099, "msg": "Failed to create card content"}
    world.platform.faults.refusals.append((400, refusal, {}))
    world.platform.say("go")
    world.wait_for_text("did go")
    assert count_turn_cards(world) == 1


def test_a_recalled_card_does_not_hold_up_the_next_turn(world: LarkWorld) -> None:
    go_on = threading.Event()

    def turn(of: ScriptedTurn) -> None:
        of.say(f"began {of.text}")
        assert go_on.wait(WAIT_SECONDS)
        of.say(f"did {of.text}")

    world.engine.agent.turn = turn
    world.follow_session()
    world.platform.say("first")
    world.wait_for_text("began first")
    world.platform.messages[world.find_message("began first")].is_recalled = True
    go_on.set()
    world.platform.say("second")
    world.wait_for_text("did second")


def test_a_chat_that_is_gone_is_forgotten(world: LarkWorld) -> None:
    session_id = world.follow_session()
    world.platform.unknown_chats.add(CHAT)
    world.engine.send(session_id, "go")
    world.platform.wait_until(lambda: 230002 in world.platform.refused)
    wait_until(lambda: world.get_binding().session_id == "")
    assert world.engine.engine.get_session(session_id), "the session itself stays"


def test_two_chats_follow_one_session(world: LarkWorld) -> None:
    session_id = world.follow_session()
    world.platform.say(f"/switch {session_id}", "oc_2")
    world.wait_for_text("follows", "oc_2")
    world.platform.say("go")
    world.wait_for_text("did go")
    card = world.wait_for_text("did go", "oc_2")
    assert get_color(card) in {"wathet", "green"}


def test_a_turn_is_shown_to_its_end_after_the_chat_has_switched(world: LarkWorld) -> None:
    go_on = threading.Event()

    def turn(of: ScriptedTurn) -> None:
        of.say("began")
        assert go_on.wait(WAIT_SECONDS)
        of.say("ended")

    world.engine.agent.turn = turn
    first = world.follow_session()
    world.platform.say("go")
    world.wait_for_text("began")
    assert world.follow_session() != first
    world.restart_adapter()
    go_on.set()
    card = world.wait_for_text("ended")
    world.wait_for_text("Done")
    assert card["header"]["title"]["content"]


@pytest.mark.parametrize("text", ["notices", "settings"])
def test_notices_alone_have_no_content(user_data: Path, text: str) -> None:
    with open_lark_world(user_data, notices_only=text == "settings") as world:
        world.bind()
        world.engine.agent.turn = lambda of: of.say(f"the answer {of.ask()}")
        world.follow_session()
        if text == "notices":
            world.platform.say("/notices on")
            world.wait_for_text("Only notices")
        world.platform.say("the question")
        world.wait_for_text("permission")
        world.press("Allow")
        world.wait_for_text("Done")
        sent = [version for each in world.platform.messages.values() for version in each.versions]
        for word in ("the answer", "the question", "command: ls"):
            assert word not in str(sent)
