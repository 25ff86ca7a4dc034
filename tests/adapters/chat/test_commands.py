import pytest
from codekernel.adapters.chat.commands import (
    COMMANDS,
    ChatCommand,
    format_help,
    get_folder_name,
    parse_command,
)


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
