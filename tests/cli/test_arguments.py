import pytest
from codekernel.cli.arguments import build_parser, find_parser


@pytest.mark.parametrize("words", [["search", "query", "--words"], ["mcp"], ["repos", "--json"]])
def test_the_parser_of_one_command_reads_what_that_of_all_does(words: list[str]) -> None:
    assert find_parser(words).parse_args(words) == build_parser().parse_args(words)
