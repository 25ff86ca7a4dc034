"""The options of every command, as argparse parsers."""

import argparse
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any, TypeAlias

from codekernel import __version__
from codekernel.cli.command_parser import (
    CommandParser,
    parse_count,
    parse_hit_limit,
    parse_port,
    parse_port_or_zero,
)
from codekernel.cli.search_arguments import add_search_arguments
from codekernel.cli.setup_arguments import (
    INSTALL_COMMANDS,
    add_build_base_arguments,
    add_models_arguments,
    add_pack_arguments,
    add_share_arguments,
    add_team_arguments,
    add_team_server_arguments,
)

STDIO_FLAG, UAP_FLAG = "--stdio", "--uap"

SHELLS = ("bash", "zsh", "fish")

CHAT_PLATFORMS = ("lark", "telegram")

Container: TypeAlias = "argparse._ActionsContainer"  # noqa: SLF001 - argparse has no other name


_ELSE_THIS_REPOSITORY = "(else the repository around this folder)"
_MODEL_HELP = "which chat model (else the first of the settings)"
_NO_COLOR_HELP = "no colours (as does $NO_COLOR)"
_ROOT_HELP = "the folder to work in (else this one)"
_STANDALONE_HELP = "do without the kernel that all programs share"
_WAIT_HELP = "wait until everything is indexed"
_USER_DATA_HELP = (
    "where settings, index and keys lie (else $CODEKERNEL_USER_DATA, "
    "else $POCKETRAG_USERDATA_PATH, else the usual place of this system)"
)

DEFAULT_KODE_PORT = 8787

# The variable with the key of a Kode service's clients, and the name of that key in the vault.
KODE_KEY_NAME = "KODE_API_SECRET"

# --http without a port.
KODE_PORT_FROM_ENV = -1

# An index is made again in minutes.
DEFAULT_UNUSED_DAYS = 90


def build_parser(only: str = "") -> argparse.ArgumentParser:
    """Build the parser of all commands, of which help and completion are made, or of one.

    That of all takes 4 ms and 0.2 MB, which a search in a terminal does without.
    """
    parser = CommandParser(
        prog="codekernel",
        description="Finds and explains the code on your own machine.",
    )
    parser.add_argument("--version", action="version", version=f"codekernel {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="command", required=True, prog="codekernel"
    )
    for name, (purpose, add_arguments) in _COMMANDS.items():
        if only in {name, ""}:
            command = commands.add_parser(name, help=purpose, description=purpose)
            _add_value(command, "--user-data", "DIR", _USER_DATA_HELP)
            add_arguments(command)
            _repeat_options(command)
    if only in {"completion", ""}:
        completion = commands.add_parser("completion", help="print the completions of a shell")
        completion.add_argument("shell", choices=SHELLS)
    return parser


def find_parser(words: list[str]) -> argparse.ArgumentParser:
    """Return the parser for a command line: that of its command, or of all if it names none."""
    return build_parser(words[0] if words and words[0] in _COMMANDS else "")


def _repeat_options(command: argparse.ArgumentParser) -> None:
    """Have each action of a command take the command's options, too: people write them last."""
    # argparse has no other way to them.
    options = [each for each in command._actions if each.option_strings and each.dest != "help"]  # noqa: SLF001
    for group in command._actions:  # noqa: SLF001
        if not isinstance(group, argparse._SubParsersAction):  # noqa: SLF001
            continue
        for action in group.choices.values():
            for option in map(copy, options):
                option.default = argparse.SUPPRESS  # it may be in front of the action
                action._add_action(option)  # noqa: SLF001
            _repeat_options(action)


def _add_search(search: argparse.ArgumentParser) -> None:
    add_search_arguments(search)
    _add_flag(search, "--no-color", _NO_COLOR_HELP)
    _add_flag(search, "--standalone", _STANDALONE_HELP)


def _add_impact(impact: argparse.ArgumentParser) -> None:
    _add_value(
        impact, "place", "PLACE", "FILE, FILE:LINE, FILE:FIRST-LAST, FILE:SYMBOL or a symbol alone"
    )
    depth_help = "how many calls away at the most (else 3)"
    _add_value(impact, "--depth", "N", depth_help, type=parse_count, default=0)
    _add_place_options(impact)


def _add_history(history: argparse.ArgumentParser) -> None:
    _add_value(history, "place", "PLACE", "FILE, FILE:FIRST-LAST, FILE:SYMBOL or a symbol alone")
    history.add_argument(
        "-n", "--limit", metavar="N", type=parse_count, default=0, help="commits (else 10)"
    )
    _add_place_options(history)


def _add_related(related: argparse.ArgumentParser) -> None:
    _add_value(related, "place", "FILE:LINE", "where the code stands that others are like")
    related.add_argument("-n", "--limit", metavar="N", type=parse_hit_limit, help="hits (else 10)")
    related.add_argument("-l", "--files", action="store_true", help="print the paths alone")
    _add_place_options(related)


def _add_place_options(command: argparse.ArgumentParser) -> None:
    _add_value(command, "--repo", "DIR", f"which repository {_ELSE_THIS_REPOSITORY}")
    _add_flag(command, "--json", "for programs, as in the protocol")
    _add_flag(command, "--no-color", _NO_COLOR_HELP)
    _add_flag(command, "--standalone", _STANDALONE_HELP)


def _add_ask(ask: argparse.ArgumentParser) -> None:
    _add_value(ask, "question", "QUESTION", "in your own words", nargs="+")
    _add_value(ask, "--repo", "DIR", f"what it is about {_ELSE_THIS_REPOSITORY}")
    _add_value(ask, "--model", "NAME", _MODEL_HELP)
    continue_help = "go on with the last conversation about this repository"
    _add_flag(ask, "--continue", continue_help, dest="is_continued")
    _add_flag(ask, "--wait", _WAIT_HELP)
    _add_flag(ask, "--json", "print one line of JSON for each event")
    _add_flag(ask, "--no-color", _NO_COLOR_HELP)
    _add_flag(ask, "--standalone", _STANDALONE_HELP)


def _add_agent(agent: argparse.ArgumentParser) -> None:
    agent.set_defaults(complain=agent.error)
    _add_value(agent, "prompt", "PROMPT", "what is to be done", nargs="*")
    form = agent.add_mutually_exclusive_group()
    _add_flag(form, STDIO_FLAG, "print JSON lines for programs (docs/protocols.md, 001)")
    _add_flag(form, UAP_FLAG, "print agent messages as JSON lines (docs/protocols.md, 004)")
    undo_help = "undo what a session changed (else the last one in this folder); no prompt"
    _add_value(form, "--undo", "ID", undo_help, nargs="?", const="")
    _add_flag(agent, "--partial", "with --uap: messages also while they grow")
    _add_value(
        agent, "--tools", "A,B", "the only tools it gets, besides plan (else the usual ones)"
    )
    agent.add_argument("-r", "--resume", metavar="ID", help="go on with an earlier session")
    _add_value(agent, "--model", "NAME", _MODEL_HELP)
    _add_value(agent, "--root", "DIR", _ROOT_HELP, default=".")
    _add_allow(agent, "without asking, besides reading and writing files")
    _add_value(agent, "--rounds", "N", "how often the model is asked at the most", type=parse_count)
    _add_flag(agent, "--no-color", _NO_COLOR_HELP)
    _add_flag(agent, "--standalone", _STANDALONE_HELP)


def _add_web(web: argparse.ArgumentParser) -> None:
    _add_value(web, "folder", "DIR", f"what to begin with {_ELSE_THIS_REPOSITORY}", nargs="?")
    _add_flag(web, "--no-browser", "print the address, open nothing")
    _add_value(
        web, "--port", "N", "which port (else the last one, or any)", type=parse_port, default=0
    )
    _add_flag(web, "--standalone", _STANDALONE_HELP)


def _add_backend(backend: argparse.ArgumentParser) -> None:
    backend.set_defaults(complain=backend.error)
    way = backend.add_mutually_exclusive_group(required=True)
    _add_flag(way, "--stdio", "calls of tools on stdin, answers on stdout")
    http_help = (
        "tasks for an agent over HTTP on this port, 0 for any (else $KODE_API_PORT, else "
        f"{DEFAULT_KODE_PORT}); $KODE_API_SECRET, or the key of that name, is the key of clients"
    )
    _add_value(
        way,
        "--http",
        "PORT",
        http_help,
        type=parse_port_or_zero,
        nargs="?",
        const=KODE_PORT_FROM_ENV,
    )
    root_help = (
        f"{_ROOT_HELP}; with --http, a folder that requests may name one in; may be repeated"
    )
    _add_value(backend, "--root", "DIR", root_help, action="append")
    _add_allow(backend, "besides reading and writing files")
    _add_flag(backend, "--read-first", "with --stdio: change no file that was not read before")
    _add_value(backend, "--model", "NAME", f"with --http: {_MODEL_HELP}")
    _add_flag(backend, "--anywhere", "with --http: not only on this machine, and unencrypted")
    _add_flag(backend, "--standalone", f"with --http: {_STANDALONE_HELP}")


def _add_mcp(mcp: argparse.ArgumentParser) -> None:
    _add_value(mcp, "--repo", "DIR", f"which one {_ELSE_THIS_REPOSITORY}")
    http_help = "over HTTP on this port, 0 for any (else over stdin and stdout)"
    _add_value(mcp, "--http", "PORT", http_help, type=parse_port_or_zero)
    _add_flag(mcp, "--standalone", _STANDALONE_HELP)


def _add_acp(acp: argparse.ArgumentParser) -> None:
    agent_help = "whose sessions (else our own; or the name of an agent in the settings)"
    _add_value(acp, "--agent", "NAME", agent_help)
    _add_flag(acp, "--standalone", _STANDALONE_HELP)


def _add_ide_tools(ide: argparse.ArgumentParser) -> None:
    way = ide.add_mutually_exclusive_group(required=True)
    _add_value(way, "--connect", "URL", "dial the backend: ws://... or wss://...")
    listen_help = "be dialled by it, on this port, 0 for any"
    _add_value(way, "--listen", "PORT", listen_help, type=parse_port_or_zero)
    _add_value(ide, "--root", "DIR", f"the project {_ELSE_THIS_REPOSITORY}")
    _add_flag(ide, "--read-only", "change no file")
    _add_flag(ide, "--anywhere", "not only on this machine")
    _add_flag(ide, "--standalone", _STANDALONE_HELP)


def _add_status(status: argparse.ArgumentParser) -> None:
    _add_flag(status, "--json", "for programs")


def _add_repos(repos: argparse.ArgumentParser) -> None:
    actions = repos.add_subparsers(dest="action", metavar="action")
    actions.add_parser("list", help="list them, as without an action")
    add = actions.add_parser("add", help="register a folder")
    _add_value(add, "folder", "DIR", "the folder")
    remove = actions.add_parser("remove", help="forget a repository and delete its index")
    _add_value(remove, "name", "NAME", "as in the list, or its folder")
    _add_flag(remove, "--force", "also if somebody has it open")
    clean = actions.add_parser("clean", help="delete the indexes that nobody uses")
    days_help = f"unused for so long (else {DEFAULT_UNUSED_DAYS})"
    _add_value(clean, "--days", "N", days_help, type=parse_count, default=DEFAULT_UNUSED_DAYS)
    _add_flag(clean, "--dry-run", "only say what would be deleted")
    _add_flag(clean, "--yes", "do not ask")
    _add_flag(repos, "--json", "for programs")


def _add_serve(serve: argparse.ArgumentParser) -> None:
    _add_flag(serve, "--standalone", _STANDALONE_HELP)
    add_team_server_arguments(serve)


def _add_eval(evaluation: argparse.ArgumentParser) -> None:
    _add_value(evaluation, "--repo", "DIR", f"where to look {_ELSE_THIS_REPOSITORY}")
    commits_help = "how many to ask (else 200, 500 to learn from)"
    _add_value(evaluation, "--commits", "N", commits_help, type=parse_count)
    learned = evaluation.add_mutually_exclusive_group()
    _add_flag(learned, "--tune", "learn from them how much each signal counts here")
    _add_flag(learned, "--untune", "forget what was learned")
    _add_flag(evaluation, "--json", "for programs")
    _add_flag(evaluation, "--standalone", _STANDALONE_HELP)


def _add_doctor(doctor: argparse.ArgumentParser) -> None:
    _add_flag(doctor, "--fix", "move what is damaged in an index aside; it is rebuilt")
    _add_flag(doctor, "--standalone", _STANDALONE_HELP)
    questions = doctor.add_subparsers(metavar="question")
    why = questions.add_parser("why", help="say whether a file is indexed, and if not, why")
    why.set_defaults(command="doctor why")
    why.add_argument("file", metavar="FILE")
    _add_value(why, "query", "QUERY", "and where it stands among answers", nargs="*")
    hub = questions.add_parser("hub", help="say whether the hub can be reached and used")
    hub.set_defaults(command="doctor hub")
    for name in CHAT_PLATFORMS:
        bot = questions.add_parser(name, help=f"try the bot that the hub has in {name.title()}")
        bot.set_defaults(command=f"doctor {name}")


def _add_hub(hub: argparse.ArgumentParser) -> None:
    port_help = "which port, 0 for any (else that of the settings)"
    _add_value(hub, "--port", "N", port_help, type=parse_port_or_zero)
    _add_flag(hub, "--anywhere", "not only on this machine; needs TLS, or a tunnel")
    _add_value(hub, "--tls-cert", "FILE", "certificate (else one of its own)", type=Path)
    _add_value(hub, "--tls-key", "FILE", "the certificate's key", type=Path)
    _add_flag(hub, "--behind-tunnel", "a tunnel on this machine leads to it")
    _add_flag(hub, "--standalone", _STANDALONE_HELP)
    actions = hub.add_subparsers(dest="action", metavar="action")
    actions.add_parser("pair", help="show another code for the hub that runs")
    key = actions.add_parser("key", help="make a key for a client that cannot pair")
    _add_value(key, "name", "NAME", "what the list calls it")
    actions.add_parser("devices", help="list the devices and machines that are paired")
    revoke = actions.add_parser("revoke", help="cut a device off")
    _add_value(revoke, "name", "NAME", "as in the list")
    join = actions.add_parser("join", help="connect this machine to the hub of another one")
    _add_value(join, "url", "URL", "the hub's address")
    _add_value(join, "--code", "CODE", "the code that the hub shows, for the first time")
    _add_value(join, "--fingerprint", "SHA256", "of the hub's own certificate")
    bind = actions.add_parser("bind", help="show a code that lets one person use a chat's bot")
    bind.add_argument("platform", choices=CHAT_PLATFORMS)
    unbind = actions.add_parser("unbind", help="list who may use a chat's bot, or forget one")
    unbind.add_argument("platform", choices=CHAT_PLATFORMS)
    _add_value(unbind, "user", "ID", "as in the list (else the list)", nargs="?")


def _add_key(key: argparse.ArgumentParser) -> None:
    actions = key.add_subparsers(dest="action", metavar="action", required=True)
    actions.add_parser("list", help="say which chat models have a key").set_defaults(name="")
    for name, purpose in (
        ("set", "store the key of a chat model; it is asked for, or read from stdin"),
        ("remove", "forget the key of a chat model"),
    ):
        action = actions.add_parser(name, help=purpose, description=purpose)
        _add_value(action, "name", "NAME", "the model's name in the settings")


def _add_nothing(_: argparse.ArgumentParser) -> None:
    """Leave a command without arguments of its own."""


# What each command is for, and what adds its arguments.
_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], object]]] = {
    "search": ("find code by what it does, what it says or what it is called", _add_search),
    "impact": ("show what a change reaches: callers, and the tests among them", _add_impact),
    "history": ("show why code is as it is: the commits behind it, from git", _add_history),
    "related": ("find code like the code at a line", _add_related),
    "ask": ("have a chat model answer a question about the code, with sources", _add_ask),
    "agent": ("have a chat model do a task in a folder, with tools", _add_agent),
    "web": ("show everything in a browser, served on this machine alone", _add_web),
    "backend": (
        "let a program use an agent, or its tools: over HTTP, or by JSON lines",
        _add_backend,
    ),
    "mcp": ("let a coding agent use search, files and calls of a repository", _add_mcp),
    **INSTALL_COMMANDS,
    "acp": ("be the agent of an editor: Zed, JetBrains, Neovim", _add_acp),
    "ide-tools": ("carry out what an IDE's backend asks of its plugin", _add_ide_tools),
    "serve": (
        "answer JSON lines on stdin and stdout, as a desktop front end expects",
        _add_serve,
    ),
    "status": ("show the kernel that runs, its clients, memory and indexes", _add_status),
    "stop": ("end the kernel that all programs share", _add_status),
    "repos": ("list, add and remove repositories, and delete indexes nobody uses", _add_repos),
    "models": (
        "list the models and whether they are whole; add a chat model",
        add_models_arguments,
    ),
    "eval": ("say how well search finds what your own commits changed, by setting", _add_eval),
    "doctor": ("say what is installed, what works, and what is wrong", _add_doctor),
    "hub": ("use the agents of your machines from a phone, a browser or a chat", _add_hub),
    "pack": ("build, fetch and list whole indexes of your team", add_pack_arguments),
    "build-base": (
        "build what your team searches of many repositories without an index",
        add_build_base_arguments,
    ),
    "team": ("give and take tokens of a kernel that serves a team", add_team_arguments),
    "share": ("show or delete what you share with your team", add_share_arguments),
    "key": ("keep the API keys of chat models, encrypted", _add_key),
    "savings": ("show what agents did not read because they searched", _add_status),
    "man": ("print the manual page", _add_nothing),
}


def _add_flag(command: Container, name: str, text: str, **options: Any) -> None:
    command.add_argument(name, action="store_true", help=text, **options)


def _add_value(command: Container, name: str, metavar: str, text: str, **options: Any) -> None:
    command.add_argument(name, metavar=metavar, help=text, **options)


def _add_allow(command: Container, text: str) -> None:
    choices = ["deletes", "runs"]
    command.add_argument("--allow", action="append", choices=choices, default=[], help=text)
