"""Usage errors say what was probably meant, every command has examples, the manual has all."""

import argparse

import pytest
from codekernel.cli.arguments import build_parser, find_parser
from codekernel.cli.command_parser import EXAMPLES
from codekernel.cli.commands.man import format_man_page


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["serch", "x"], "did you mean search?"),
        (["search", "--limt", "3", "x"], "did you mean --limit?"),
        (["repos", "claen"], "did you mean clean?"),
        (["repos", "clean", "--drry-run"], "did you mean --dry-run?"),
        (["where is it"], "codekernel search 'where is it'"),
    ],
)
def test_what_was_probably_meant_is_named(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        find_parser(words).parse_args(words)
    assert ended.value.code == 2
    assert expected in capsys.readouterr().err


def test_every_command_has_examples_that_it_understands() -> None:
    (group,) = (
        each for each in build_parser()._actions if isinstance(each, argparse._SubParsersAction)
    )
    assert set(EXAMPLES) == set(group.choices)
    for command in group.choices.values():
        assert "examples:" in command.format_help()


def test_short_options_mean_what_they_mean_elsewhere() -> None:
    words = ["search", "-l", "-i", "-n", "5", "-t", "python", "-g", "src", "-C", "2", "query"]
    args = find_parser(words).parse_args(words)
    assert (args.files, args.ignore_case, args.limit, args.context) == (True, True, 5, 2)
    assert (args.type, args.glob, args.query) == (["python"], ["src"], ["query"])


def test_the_manual_names_every_command_and_option() -> None:
    page = "\n".join(format_man_page(build_parser()))
    assert page.startswith(".TH CODEKERNEL 1")
    for text in (".SS search", ".SS repos clean", "\\-\\-jsonl", "EXIT STATUS"):
        assert text in page
