import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from codekernel.adapters.chat.bindings import ChatBindings
from codekernel.adapters.chat.commands import (
    COMMANDS,
    ChatCommand,
    ChatCommands,
    CommandCaller,
    CommandReply,
    format_help,
    is_notices_only,
    parse_command,
)
from codekernel.adapters.chat.permissions import describe_decision, list_choices, press_button
from codekernel.adapters.chat.repository_queries import RepositoryQueries
from codekernel.adapters.chat.session_feed import get_folder_name
from codekernel.adapters.chat.turns import TextStep
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.hub.events import HubEventLog
from codekernel.adapters.hub.machine_table import MachineTable
from codekernel.adapters.hub.machines import HubMachines
from codekernel.domain.agent_sessions import Actor, Device, PermissionMode
from codekernel.storage.user_data import UserData
from support.scripted_agent import DESK, EngineWorld, ScriptedTurn, open_world, text_of


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/stop", ChatCommand("stop")),
        (" /Switch@CodeBot  3f2a ", ChatCommand("switch", "3f2a")),
        ("/ask where is\nit?", ChatCommand("ask", "where is\nit?")),
        ("/start", ChatCommand("help")),
        ("/sw x", ChatCommand("switch", "x")),
        ("/stop@another_bot", None),
        ("stop", None),
        ("/", None),
        ("", None),
    ],
)
def test_a_command_is_parsed(text: str, command: ChatCommand | None) -> None:
    assert parse_command(text, "codebot") == command


def test_help_names_every_command() -> None:
    assert all(f"/{name} " in format_help().markdown for name in COMMANDS)


@pytest.mark.parametrize("folder", ["/home/ann/code", "C:\\Users\\ann\\code", "code"])
def test_a_folder_of_any_system_has_a_short_name(folder: str) -> None:
    assert get_folder_name(folder) == "code"


ANN = Actor(Device.TELEGRAM, "Ann")


@dataclass
class CommandWorld:
    """Commands in the chat 7 over a real engine."""

    world: EngineWorld
    bindings: ChatBindings
    commands: ChatCommands
    event_ids: Iterator[int] = field(default_factory=count)

    def run(self, text: str) -> CommandReply:
        command = parse_command(text)
        assert command is not None
        caller = CommandCaller("7", ANN, str(next(self.event_ids)))
        return self.commands.run(command, caller)


@pytest.fixture
def chat(user_data: Path) -> Iterator[CommandWorld]:
    with open_world(user_data) as world, closing(HubDatabase(user_data)) as database:
        log = HubEventLog()
        table = MachineTable(log)
        table.attach(world.engine)
        bindings = ChatBindings(database, "telegram")
        queries = RepositoryQueries(UserData(user_data))
        commands = ChatCommands(HubMachines(table, log), bindings, queries)
        yield CommandWorld(world, bindings, commands)


def test_a_chat_is_offered_what_there_is(chat: CommandWorld) -> None:
    folders = chat.commands.describe_unbound()
    assert [choice.label for choice in folders.choices] == ["repo"]
    session = chat.world.start(name="mine")
    sessions = chat.commands.describe_unbound()
    assert [choice.command for choice in sessions.choices] == [f"/switch {session.id}"]
    assert f"**mine** (`{session.id[:8]}`) in repo, scripted: waits for you" in (
        chat.run("/sessions").markdown
    )


def test_new_starts_a_session_once_and_follows_it(chat: CommandWorld) -> None:
    caller = CommandCaller("7", ANN, "event-1")
    for _ in range(2):  # the platform repeats an event
        reply = chat.commands.run(ChatCommand("new", "repo scripted"), caller)
        assert reply.markdown.startswith("Started **repo**")
    (session,) = chat.world.engine.list_sessions()
    assert chat.bindings.get_chat("7").session_id == session.id
    assert session.permission_mode is PermissionMode.ASK


@pytest.mark.parametrize("folder", ["/", "/etc", "..", "nothing"])
def test_only_known_folders_can_be_worked_in(chat: CommandWorld, folder: str) -> None:
    reply = chat.run(f"/new {folder} scripted")
    assert reply.markdown == "No such repository is known; /repos lists them."
    assert chat.world.engine.list_sessions() == []


def test_a_session_is_chosen_by_its_id_or_name_and_never_by_guessing(chat: CommandWorld) -> None:
    first, second = chat.world.start(name="one"), chat.world.start(name="one")
    assert "Several sessions are called so" in chat.run("/switch one").markdown
    assert "There is no such session" in chat.run("/switch zzzz").markdown
    assert chat.bindings.get_chat("7").session_id == ""
    chat.run(f"/switch {second.id}")
    assert chat.bindings.get_chat("7").session_id == second.id
    chat.world.engine.update_session(first.id, name="Two")
    chat.run("/switch two")
    assert chat.bindings.get_chat("7").session_id == first.id


def test_what_was_said_before_is_history(chat: CommandWorld) -> None:
    session = chat.world.start()
    for text in ("one", "two", "three"):
        chat.world.send(session.id, text)
    chat.world.wait_until_idle(session.id)
    chat.run(f"/switch {session.id}")
    assert chat.bindings.get_chat("7").shown_seq == 6
    (turn,) = chat.run("/history").turns
    assert turn.steps == (TextStep("did three"),)
    assert [it.steps for it in chat.run("/history 2").turns] == [
        (TextStep("did two"),),
        (TextStep("did three"),),
    ]
    assert len(chat.run("/history 99999").turns) == 3


def test_a_running_turn_is_shown_from_its_beginning(chat: CommandWorld) -> None:
    may_go_on = threading.Event()

    def act(turn: ScriptedTurn) -> None:
        turn.say("begun")
        assert may_go_on.wait(60)

    session = chat.world.start()
    chat.world.send(session.id, "one")
    chat.world.wait_until_idle(session.id)
    chat.world.agent.turn = act
    chat.world.send(session.id, "two")
    chat.world.wait_for(lambda it: it.message is not None and text_of(it.message) == "begun")
    chat.run(f"/switch {session.id}")
    assert chat.bindings.get_chat("7").shown_seq == 2
    may_go_on.set()


def test_everything_is_never_allowed_from_a_chat(chat: CommandWorld) -> None:
    session = chat.world.start()
    chat.run(f"/switch {session.id}")
    assert "From a chat the agent always asks" in chat.run("/mode yolo").markdown
    assert chat.world.engine.get_session(session.id).permission_mode is PermissionMode.ASK
    chat.run("/mode read-only")
    assert chat.world.engine.get_session(session.id).permission_mode is PermissionMode.READ_ONLY
    assert [choice.label for choice in chat.run("/mode").choices] == ["Ask", "Only read"]


def test_a_session_is_renamed_and_put_away(chat: CommandWorld) -> None:
    session = chat.world.start()
    assert "This chat follows no session" in chat.run("/rename x").markdown
    chat.run(f"/switch {session.id}")
    assert "**new name**" in chat.run("/rename new name").markdown
    chat.run("/archive")
    assert chat.world.engine.get_session(session.id).is_archived
    assert chat.bindings.get_chat("7").session_id == ""
    assert "Where shall the agent work?" in chat.run("/sessions").markdown


def test_an_unknown_command_is_answered_with_the_known_ones(chat: CommandWorld) -> None:
    assert chat.run("/dance").markdown.startswith("There is no command /dance.")


def test_notices_are_switched_for_one_chat(chat: CommandWorld) -> None:
    assert not is_notices_only(chat.bindings.get_chat("7"), default=False)
    assert is_notices_only(chat.bindings.get_chat("7"), default=True)
    chat.run("/notices on")
    assert is_notices_only(chat.bindings.get_chat("7"), default=False)
    chat.run("/notices off")
    assert not is_notices_only(chat.bindings.get_chat("7"), default=True)


def test_the_first_answer_wins_and_the_second_is_told_who_was_first(chat: CommandWorld) -> None:
    chat.world.agent.turn = lambda turn: turn.ask()
    session = chat.world.start()
    chat.world.send(session.id, "go")
    chat.world.wait_for_permission(session.id)
    (permission,) = chat.world.engine.get_session(session.id).permissions
    allow, _, deny = list_choices(session.id, permission)
    first = press_button(chat.world.engine, allow.button, ANN)
    second = press_button(chat.world.engine, deny.button, DESK)
    assert (first.is_late, second.is_late) == (False, True)
    assert describe_decision(second.permission) == "Allowed by Ann (Telegram)."
    assert chat.world.agent.responses == [("p1", True, "")]
