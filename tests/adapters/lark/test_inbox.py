"""What people do in a chat: who may, commands, buttons, permissions."""

import threading
from typing import Any

import pytest
from codekernel.domain.agent_sessions import PermissionAnswer
from codekernel.errors import PermissionAnswered
from support.lark_world import ANN, CHAT, LarkWorld, get_color, read_card
from support.scripted_agent import DESK, WAIT_SECONDS, ScriptedTurn

STRANGER = "ou_stranger"


def ask_then_say(of: ScriptedTurn) -> None:
    of.say("allowed" if of.ask() else "refused")


def test_a_stranger_gets_one_polite_line_and_reaches_nobody(world: LarkWorld) -> None:
    world.follow_session()
    for text in ("hello", "run rm -rf", "/new x", "/bind WRONGCODE"):
        event = world.platform.say(text, user=STRANGER)
        world.platform.wait_until(event.answered.is_set)
    world.wait_for_text("serves its owner alone")
    world.platform.say("the owner")
    world.wait_for_text("did the owner")
    assert [text for _, text in world.engine.agent.prompts] == ["the owner"]
    cards = world.platform.list_cards(CHAT)
    assert sum("owner alone" in read_card(card) for card in cards) == 1
    assert len(cards) == 3


def test_a_code_binds_one_user_once(world: LarkWorld) -> None:
    code = world.bindings.create_code()
    world.platform.say(f"/bind {code} Bea", user="ou_bea")
    world.wait_for_text("You may use this bot now")
    world.platform.say(f"/bind {code}", user=STRANGER)
    world.wait_for_text("wrong, used or too old")
    assert [user.name for user in world.bindings.list_users()] == ["Ann", "Bea"]


def test_a_chat_without_a_session_is_told_how_to_get_one(world: LarkWorld) -> None:
    world.platform.say("hello")
    card = world.wait_for_text("Where shall the agent work?")
    assert card["body"]["elements"][-1]["tag"] == "button"
    session_id = world.follow_session("oc_2")
    world.platform.say("hello again")
    world.wait_for_text("follows no session")
    answer = world.press("repo")
    assert answer["toast"]["content"] == f"/switch {session_id}"
    world.wait_for_text("This chat follows **")
    assert world.get_binding().session_id == session_id


@pytest.mark.parametrize("kind", ["image", "file", "audio", "sticker"])
def test_what_is_no_text_gets_a_clear_reply(world: LarkWorld, kind: str) -> None:
    world.platform.say("", kind=kind)
    world.wait_for_text("Only text is understood")
    assert world.engine.agent.prompts == []


def test_pasted_text_with_formats_is_text_and_mentions_are_left_out(world: LarkWorld) -> None:
    world.follow_session()
    content = (
        '{"title": "A", "content": [[{"tag": "at", "text": "@bot"}, {"tag": "text", "text": "b"}]]}'
    )
    message = {
        "message_id": "om_u", "chat_id": CHAT, "message_type": "post", "content": content,
        "mentions": [{"key": "@_user_1"}],
    }  # fmt: skip
    sender = {"sender_id": {"open_id": ANN}, "sender_type": "user"}
    world.platform.push("im.message.receive_v1", {"sender": sender, "message": message})
    world.wait_for_text("did A")
    assert world.engine.agent.prompts[0][1] == "A\nb"


def test_commands_answer_with_cards(world: LarkWorld) -> None:
    session_id = world.follow_session()
    world.platform.say("go")
    world.wait_for_text("did go")
    for command, expected in {
        "/help": "/archive",
        "/repos": str(world.engine.folder.name),
        "/rename shop": "It is called",
        "/sessions": "shop",
        "/mode read-only": "The mode is read-only",
        "/stop": "The agent does nothing now",
        "/history": "did go",
        "/nonsense": "There is no command",
        "/archive": "put away",
    }.items():
        count = len(world.platform.messages)
        world.platform.say(command)
        world.platform.wait_until(lambda count=count: len(world.platform.messages) > count)  # type: ignore[misc]
        world.wait_for_text(expected)
    assert world.engine.engine.get_session(session_id).is_archived
    assert world.get_binding().session_id == ""


def test_a_permission_is_allowed_with_one_press_and_the_card_says_by_whom(world: LarkWorld) -> None:
    world.engine.agent.turn = ask_then_say
    world.follow_session()
    world.platform.say("go")
    card = world.wait_for_text("asks for your permission")
    assert get_color(card) == "orange"
    assert "command: ls" in read_card(card)
    world.wait_for_text("Waits for your answer")
    answer = world.press("Allow")
    assert answer["toast"] == {"type": "success", "content": "Allowed by Ann (Lark)."}
    assert "Allowed by Ann" in read_card(answer["card"]["data"])
    world.wait_for_text("allowed")
    card = world.wait_for_text("Allowed by Ann (Lark).")
    assert get_color(card) == "green"
    assert "button" not in str(card)


def test_a_late_press_is_told_that_it_was_answered_already(world: LarkWorld) -> None:
    world.engine.agent.turn = ask_then_say
    session_id = world.follow_session()
    world.platform.say("go")
    card = world.wait_for_text("asks for your permission")
    value = card["body"]["elements"][-1]["behaviors"][0]["value"]
    message_id = world.find_message("asks for your permission")
    engine = world.engine.engine
    (permission,) = engine.get_session(session_id).pending_permissions
    engine.answer_permission(session_id, permission.id, PermissionAnswer(allowed=True, actor=DESK))
    world.wait_for_text("Allowed by Bob (the web page).")
    answer = world.click(message_id, value)
    assert answer["toast"]["content"].startswith("This was answered already. Allowed by Bob")
    world.wait_for_text("allowed")


@pytest.mark.parametrize(
    ("user", "value", "expected"),
    [
        (STRANGER, None, "You may not use this bot."),
        (ANN, {"button": "forged"}, "This button is too old."),
    ],
)
def test_only_bound_users_and_our_own_buttons_decide(
    world: LarkWorld, user: str, value: dict[str, Any] | None, expected: str
) -> None:
    world.engine.agent.turn = ask_then_say
    session_id = world.follow_session()
    world.platform.say("go")
    card = world.wait_for_text("asks for your permission")
    value = value or card["body"]["elements"][-1]["behaviors"][0]["value"]
    answer = world.click(world.find_message("asks for your permission"), value, user)
    assert answer["toast"]["content"] == expected
    assert world.engine.engine.get_session(session_id).pending_permissions
    world.press("Deny")
    world.wait_for_text("refused")


def test_a_permission_that_was_asked_while_the_adapter_was_away_is_asked_after_it(
    world: LarkWorld,
) -> None:
    world.engine.agent.turn = ask_then_say
    session_id = world.follow_session()
    world.stop_adapter()
    world.engine.send(session_id, "go")
    world.engine.wait_for_permission(session_id)
    world.start_adapter()
    world.wait_for_text("asks for your permission")
    answer = world.press("Allow for this turn")
    world.wait_for_text("allowed")
    assert answer["toast"]["type"] == "success"


def test_a_press_that_takes_long_is_answered_in_time(
    world: LarkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel may be slow; the platform shows an error after three seconds."""
    go_on = threading.Event()
    answer_permission = world.machines.answer_permission

    def answer_late(*args: Any) -> Any:
        go_on.wait(WAIT_SECONDS)
        return answer_permission(*args)

    world.engine.agent.turn = ask_then_say
    world.follow_session()
    world.platform.say("go")
    world.wait_for_text("asks for your permission")
    monkeypatch.setattr(world.machines, "answer_permission", answer_late)
    assert world.press("Allow")["toast"]["content"].startswith("This takes a moment")
    go_on.set()
    world.wait_for_text("Allowed by Ann (Lark).")
    world.wait_for_text("allowed")


def test_of_lark_and_a_page_at_the_same_moment_exactly_one_decides(world: LarkWorld) -> None:
    decisions: list[bool] = []
    world.engine.agent.turn = lambda of: decisions.append(of.ask(of.text))
    session_id = world.follow_session()
    engine = world.engine.engine
    for number in range(6):
        world.platform.say(f"p{number}")
        world.engine.wait_for_permission(session_id)
        world.platform.wait_until(lambda: world.has_button("Deny"))
        (permission,) = engine.get_session(session_id).pending_permissions
        outcomes: list[str] = []

        def answer(name: str, outcomes: list[str] = outcomes, of: str = permission.id) -> None:
            try:
                allowed = PermissionAnswer(allowed=True, actor=DESK)
                engine.answer_permission(session_id, of, allowed)
                outcomes.append(name)
            except PermissionAnswered:
                outcomes.append("late")

        page = threading.Thread(target=answer, args=("page",))
        page.start()
        toast = world.press("Deny")["toast"]["content"]
        page.join()
        is_late = toast.startswith("This was answered already")
        assert (outcomes == ["page"]) == is_late
        world.engine.wait_until_idle(session_id)
        assert decisions[-1] == is_late
        world.platform.wait_until(lambda: not world.has_button("Deny"))
    assert len(decisions) == 6
