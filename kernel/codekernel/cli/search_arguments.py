"""The arguments of ``search``: options as grep and git have them where they mean the same."""

import argparse
from typing import TypeAlias

from codekernel.cli.command_parser import parse_context, parse_hit_limit

Container: TypeAlias = "argparse._ActionsContainer"  # noqa: SLF001 - argparse has no other name

_QUERY_HELP = (
    "words, a name, a question, an error message; '\"exact text\"', /regular expression/; and "
    "lang: path: file: symbol: scope: repo: in front of what it must be, with a minus sign of what "
    "it must not. The URL of a repository, or a folder such as ./lib, may stand in front"
)


def add_search_arguments(search: argparse.ArgumentParser) -> None:
    """Add them, in groups."""
    search.add_argument("query", metavar="QUERY", nargs="+", help=_QUERY_HELP)
    where = search.add_argument_group("where")
    where.add_argument(
        "--repo",
        metavar="DIR",
        action="append",
        help="a folder, the name of a repository, or its URL, which is cloned; may be repeated"
        " (else the repository around this folder)",
    )
    _add_flag(where, ("-a", "--all"), "every repository that is known")
    where.add_argument(
        "--base",
        metavar="NAME",
        help="all repositories of a base of your team, none of which has to be here",
    )
    _add_list(where, ("-t", "--type", "--lang"), "LANG", "only this language")
    _add_list(where, ("-g", "--glob"), "GLOB", "only paths that contain or match this")
    _add_list(where, ("--scope",), "NAME", "only this package of a monorepo, or this folder")
    _add_flag(where, ("--refresh",), "bring the clone of a URL up to date")
    how = search.add_argument_group("how")
    literal = how.add_mutually_exclusive_group()
    _add_flag(literal, ("-F", "--fixed"), "the query is exact text")
    _add_flag(literal, ("-e", "--regex"), "the query is a regular expression")
    _add_flag(how, ("-i", "--ignore-case"), "in exact text and expressions; words ignore it anyway")
    _add_flag(how, ("--words",), "answer by words alone, at once")
    _add_flag(how, ("--wait",), "wait until everything is indexed")
    _add_flag(how, ("--accuracy",), "let the selected reranker read the best results")
    output = search.add_argument_group("output")
    output.add_argument(
        "-n",
        "-m",
        "--limit",
        metavar="N",
        type=parse_hit_limit,
        help="how many hits at the most",
    )
    form = output.add_mutually_exclusive_group()
    _add_flag(form, ("-l", "--files"), "print the paths alone")
    _add_flag(form, ("--json",), "print one array, as in the protocol")
    _add_flag(form, ("--jsonl",), "one object a line, also with lines that count from 1")
    output.add_argument(
        "-C",
        "--context",
        metavar="N",
        type=parse_context,
        help="lines around the best one of each hit (else as many as fit)",
    )
    _add_flag(output, ("--full",), "as much of each hit on a terminal as of the best one")
    _add_flag(output, ("--explain",), "say why each hit is where it is")
    _add_flag(output, ("-o", "--open"), "open the best hit in the editor")
    _add_flag(output, ("--no-pager",), "do not show what is too long in $PAGER")


def _add_flag(group: Container, names: tuple[str, ...], text: str) -> None:
    group.add_argument(*names, action="store_true", help=text)


def _add_list(group: Container, names: tuple[str, ...], metavar: str, text: str) -> None:
    group.add_argument(*names, metavar=metavar, action="append", help=f"{text}; may be repeated")
