import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from codekernel.adapters.chat import bindings as module
from codekernel.adapters.chat.bindings import (
    ChatBinding,
    ChatBindings,
    ChatButtons,
    CommandButton,
    PermissionButton,
)
from codekernel.adapters.hub.database import HubDatabase

PRESSED = PermissionButton("session", "permission", is_allowed=True, option_id="once")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[HubDatabase]:
    with closing(HubDatabase(tmp_path)) as opened:
        yield opened


def test_a_code_binds_one_user_once(database: HubDatabase) -> None:
    bindings = ChatBindings(database, "telegram")
    code = bindings.create_code()
    assert not bindings.is_bound("7")
    assert bindings.bind_user(f" {code[:4].lower()} {code[4:]} ", "7", "Ann")
    assert bindings.is_bound("7")
    assert not bindings.bind_user(code, "8", "Bob")
    assert [(user.user_id, user.name) for user in bindings.list_users()] == [("7", "Ann")]


def test_a_code_is_good_for_its_platform_alone(database: HubDatabase) -> None:
    code = ChatBindings(database, "telegram").create_code()
    other = ChatBindings(database, "lark")
    assert not other.bind_user(code, "7", "Ann")
    assert not other.is_bound("7")


def test_a_new_code_replaces_the_earlier_one(database: HubDatabase) -> None:
    bindings = ChatBindings(database, "telegram")
    first, second = bindings.create_code(), bindings.create_code()
    assert not bindings.bind_user(first, "7", "Ann")
    assert bindings.bind_user(second, "7", "Ann")


def test_a_code_expires(database: HubDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    bindings = ChatBindings(database, "telegram")
    with monkeypatch.context() as patch:
        patch.setattr(module, "CODE_LIFETIME_SECONDS", -1)
        code = bindings.create_code()
    assert not bindings.bind_user(code, "7", "Ann")


def test_guessing_uses_a_code_up(database: HubDatabase) -> None:
    bindings = ChatBindings(database, "telegram")
    code = bindings.create_code()
    for _ in range(module.MAX_CODE_ATTEMPTS):
        assert not bindings.bind_user("WRONG", "9", "Eve")
    assert not bindings.bind_user(code, "7", "Ann")


def test_two_users_with_the_same_code_at_the_same_moment_are_one(tmp_path: Path) -> None:
    with closing(HubDatabase(tmp_path)) as one, closing(HubDatabase(tmp_path)) as two:
        both = [ChatBindings(one, "telegram"), ChatBindings(two, "telegram")]
        code = both[0].create_code()
        start, bound = threading.Barrier(2), list[bool]()

        def bind(bindings: ChatBindings, user: str) -> None:
            start.wait()
            bound.append(bindings.bind_user(code, user, user))

        threads = [
            threading.Thread(target=bind, args=each) for each in zip(both, "ab", strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(bound) == [False, True]
        assert len(both[0].list_users()) == 1


def test_an_unbound_user_has_no_right_any_more(database: HubDatabase) -> None:
    bindings = ChatBindings(database, "telegram")
    bindings.bind_user(bindings.create_code(), "7", "Ann")
    assert bindings.unbind_user("7")
    assert not bindings.unbind_user("7")
    assert not bindings.is_bound("7")


def test_a_stranger_is_met_once_even_after_a_restart(tmp_path: Path) -> None:
    with closing(HubDatabase(tmp_path)) as database:
        assert ChatBindings(database, "telegram").note_stranger("9")
    with closing(HubDatabase(tmp_path)) as database:
        assert not ChatBindings(database, "telegram").note_stranger("9")
        assert ChatBindings(database, "lark").note_stranger("9")


def test_what_a_chat_follows_survives_a_restart(tmp_path: Path) -> None:
    bound = ChatBinding("-5", "session", "/repo", shown_seq=3, is_notices_only=True)
    with closing(HubDatabase(tmp_path)) as database:
        bindings = ChatBindings(database, "telegram")
        assert bindings.get_chat("-5") == ChatBinding("-5")
        bindings.save_chat(bound)
    with closing(HubDatabase(tmp_path)) as database:
        bindings = ChatBindings(database, "telegram")
        assert bindings.list_chats() == [bound]
        bindings.save_position("-5", "session", 8)
        bindings.save_position("-5", "another session", 99)
        assert bindings.get_chat("-5").shown_seq == 8


def test_an_event_is_handled_once(database: HubDatabase) -> None:
    bindings = ChatBindings(database, "lark")
    assert not bindings.is_handled("e1")
    assert bindings.mark_handled("e1")
    assert bindings.is_handled("e1")
    assert not bindings.mark_handled("e1")
    assert not ChatBindings(database, "telegram").is_handled("e1")


def test_a_button_is_found_after_a_restart_in_its_own_chat_alone(tmp_path: Path) -> None:
    with closing(HubDatabase(tmp_path)) as database:
        buttons = ChatButtons(database, "telegram")
        pressed = buttons.register("7", PRESSED)
        command = buttons.register("7", CommandButton("/new /a folder"))
        assert buttons.register("7", PRESSED) == pressed
        assert buttons.register("8", PRESSED) != pressed
    assert len(pressed.encode()) <= 64
    with closing(HubDatabase(tmp_path)) as database:
        buttons = ChatButtons(database, "telegram")
        assert buttons.find("7", pressed) == PRESSED
        assert buttons.find("7", command) == CommandButton("/new /a folder")
        assert buttons.find("8", pressed) is None
        assert buttons.find("7", pressed[:8]) is None
        assert ChatButtons(database, "lark").find("7", pressed) is None
