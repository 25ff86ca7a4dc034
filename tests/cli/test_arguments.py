"""Options are accepted on both sides of a command's action, as people write them."""

import pytest
from codekernel.cli.arguments import build_parser, find_parser


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["doctor", "hub"], "doctor hub"),
        (["doctor", "telegram"], "doctor telegram"),
        (["doctor", "why", "main.py"], "doctor why"),
        (["repos", "list"], "repos"),
        (["repos", "clean"], "repos"),
        (["hub", "devices"], "hub"),
        (["key", "set", "model"], "key"),
    ],
)
def test_an_option_of_a_command_stands_before_or_after_its_action(
    words: list[str], command: str
) -> None:
    option = ["--user-data", "folder"]
    before = find_parser(words).parse_args([words[0], *option, *words[1:]])
    after = find_parser(words).parse_args([*words, *option])
    assert before == after
    assert after.user_data == "folder"
    assert after.command == command
    assert find_parser(words).parse_args(words).user_data is None


def test_a_flag_before_the_action_is_kept_by_the_action() -> None:
    parser = find_parser(["doctor"])
    assert parser.parse_args(["doctor", "--standalone", "hub"]).standalone
    assert parser.parse_args(["doctor", "hub", "--standalone"]).standalone
    assert not parser.parse_args(["doctor", "hub"]).standalone


@pytest.mark.parametrize("words", [["search", "query", "--words"], ["mcp"], ["repos", "--json"]])
def test_the_parser_of_one_command_reads_what_that_of_all_does(words: list[str]) -> None:
    assert find_parser(words).parse_args(words) == build_parser().parse_args(words)
