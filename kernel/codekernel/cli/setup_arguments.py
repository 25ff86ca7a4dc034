"""The arguments of what is set up: coding agents, models, and what a team shares."""

import argparse
from pathlib import Path

from codekernel.cli.command_parser import parse_count, parse_port_or_zero

DEFAULT_TEAM_PORT = 8791

# Packs are deleted when they are older, but never the newest of a repository.
DEFAULT_PACK_DAYS, DEFAULT_KEPT_PACKS = 30, 3

_REPO_HELP = "which repository (else the one around this folder)"


def add_share_arguments(share: argparse.ArgumentParser) -> None:
    """Add the actions of ``share`` to its parser."""
    actions = share.add_subparsers(dest="action", metavar="action", required=True)
    status = actions.add_parser(
        "status", help="try the team's store, and say what it holds and what leaves this machine"
    )
    status.add_argument("--json", action="store_true", help="for programs")
    actions.add_parser("send", help="send what waits to be contributed, and wait for it")
    forget = actions.add_parser(
        "forget", help="delete the vectors that this machine has contributed"
    )
    forget.add_argument("--yes", action="store_true", help="do not ask")
    forget.add_argument(
        "--base", metavar="NAME", default="", help="instead: delete a base, for all of the team"
    )


def add_team_arguments(team: argparse.ArgumentParser) -> None:
    """Add the actions of ``team`` to its parser."""
    things = team.add_subparsers(dest="thing", metavar="thing", required=True)
    token = things.add_parser("token", help="tokens of people and of CI")
    token.set_defaults(command="team token")
    actions = token.add_subparsers(dest="action", metavar="action", required=True)
    add = actions.add_parser("add", help="make a token; it is shown once")
    add.add_argument("name", metavar="USER", help="as in userData/team/rights.json")
    actions.add_parser("list", help="list the tokens, without their text")
    revoke = actions.add_parser("revoke", help="refuse a token from now on")
    revoke.add_argument("name", metavar="NAME", help="its id, or a user, for all of theirs")


def add_team_server_arguments(serve: argparse.ArgumentParser) -> None:
    """Add what ``serve --team`` takes."""
    serve.add_argument(
        "--team",
        dest="command",
        action="store_const",
        const="serve team",
        help="instead: let a team search over HTTP, with tokens and rights",
    )
    serve.add_argument("--host", metavar="ADDRESS", help="with --team: where (else 127.0.0.1)")
    serve.add_argument(
        "--port",
        metavar="N",
        type=parse_port_or_zero,
        default=DEFAULT_TEAM_PORT,
        help=f"with --team: which port, 0 for any (else {DEFAULT_TEAM_PORT})",
    )
    serve.add_argument("--tls-cert", metavar="FILE", type=Path, help="with --team: certificate")
    serve.add_argument("--tls-key", metavar="FILE", type=Path, help="with --team: its key")
    serve.add_argument(
        "--plain", action="store_true", help="with --team: a proxy in front of it speaks TLS"
    )


def add_pack_arguments(pack: argparse.ArgumentParser) -> None:
    """Add the actions of ``pack`` to its parser."""
    actions = pack.add_subparsers(dest="action", metavar="action", required=True)
    build = actions.add_parser("build", help="index a commit, and send the index to the team")
    build.add_argument(
        "--repo", metavar="DIR", action="append", help=f"{_REPO_HELP}; may be repeated"
    )
    build.add_argument(
        "--commit", metavar="ID", default="HEAD", help="which commit (else what is checked out)"
    )
    build.add_argument(
        "--label", metavar="NAME", help="what the list calls the repository (else its folder)"
    )
    build.add_argument("--force", action="store_true", help="also if the commit has a pack")
    _add_policy(build, "afterwards delete packs that are older than N days; 0 deletes none")
    pull = actions.add_parser(
        "pull", help="open a repository with the nearest index of the team, and say what was found"
    )
    pull.add_argument("--repo", metavar="DIR", help=_REPO_HELP)
    pull.add_argument(
        "--standalone", action="store_true", help="do without the kernel that all programs share"
    )
    listing = actions.add_parser("list", help="list the packs of the team")
    listing.add_argument("--json", action="store_true", help="for programs")
    actions.add_parser("key", help="make a pair of keys, to sign packs and to check signatures")
    clean = actions.add_parser("clean", help="delete old packs of the team")
    _add_policy(clean, "those that are older than N days")
    clean.add_argument("--dry-run", action="store_true", help="only say which")


def add_build_base_arguments(build: argparse.ArgumentParser) -> None:
    """Add what ``build-base`` takes."""
    build.add_argument("name", metavar="BASE", help="how the settings of your team call it")
    build.add_argument(
        "--repo",
        metavar="[NAME=]DIR",
        action="append",
        default=[],
        help="a repository, as it is committed (NAME: else that of its folder); may be repeated",
    )
    build.add_argument(
        "--repos", metavar="FILE", type=Path, help="a file with one such repository a line"
    )
    build.add_argument(
        "--on",
        choices=("local", "ray"),
        default="local",
        help="where: in processes of this machine, or on a cluster of Ray (codekernel[ray])",
    )
    build.add_argument(
        "--ray-address",
        metavar="ADDRESS",
        default="auto",
        help="with --on ray: where the cluster is (else the one this machine is part of)",
    )
    build.add_argument(
        "--workers", metavar="N", type=parse_count, help="how many at once (else one for each core)"
    )


def _parse_zero_or_more(text: str) -> int:
    return 0 if text == "0" else parse_count(text)


def _add_policy(action: argparse.ArgumentParser, days_help: str) -> None:
    action.add_argument(
        "--days",
        metavar="N",
        type=_parse_zero_or_more,
        default=DEFAULT_PACK_DAYS,
        help=f"{days_help} (else {DEFAULT_PACK_DAYS})",
    )
    action.add_argument(
        "--keep",
        metavar="N",
        type=_parse_zero_or_more,
        default=DEFAULT_KEPT_PACKS,
        help=f"but keep the newest N of a repository (else {DEFAULT_KEPT_PACKS})",
    )


# Parts of codekernel/adapters/agent_config/targets.py, which is imported when the command runs.
PARTS = ("instructions", "skill", "subagent")


def _add_install_arguments(install: argparse.ArgumentParser) -> None:
    """Add those of ``install``."""
    _add_common_arguments(install)
    install.add_argument(
        "--with",
        dest="parts",
        metavar="A,B",
        type=parse_parts,
        default=(),
        help=f"besides the server, where an agent knows them: {', '.join(PARTS)}",
    )


def parse_parts(text: str) -> tuple[str, ...]:
    """Return the parts in a list with commas."""
    parts = tuple(filter(None, (part.strip() for part in text.split(","))))
    for part in parts:
        if part not in PARTS:
            raise argparse.ArgumentTypeError(f"{part!r} is none of {', '.join(PARTS)}")
    return parts


def _add_common_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--agent",
        metavar="NAME",
        action="append",
        help="which one, also if it is not found; may be repeated (else all that are found)",
    )
    command.add_argument(
        "--project",
        metavar="DIR",
        nargs="?",
        const="",
        help="the files of a project (else of the one around this folder), not yours",
    )
    command.add_argument("--yes", action="store_true", help="do not ask")
    command.add_argument("--dry-run", action="store_true", help="only say what would be written")
    command.add_argument(
        "--json", action="store_true", help="for programs; asks for --yes to write"
    )


# What each command is for, and what adds its arguments.
INSTALL_COMMANDS = {
    "install": ("let the coding agents on this machine use codekernel", _add_install_arguments),
    "uninstall": ("take away what install has written", _add_common_arguments),
}


_STANDALONE_HELP = "do without the kernel that all programs share"


def add_models_arguments(models: argparse.ArgumentParser) -> None:
    """Add the actions of ``models`` to its parser."""
    actions = models.add_subparsers(dest="action", metavar="action")
    actions.add_parser("list", help="list them, as without an action")
    purpose = "add a chat model: from a provider, or from a server on this machine"
    add = actions.add_parser("add", help=purpose, description=purpose)
    add.add_argument(
        "provider", metavar="PROVIDER", help="such as openai or ollama (else asked)", nargs="?"
    )
    add.add_argument(
        "--url", metavar="URL", help="address of an endpoint that is no known provider"
    )
    add.add_argument("--model", metavar="MODEL", help="as the endpoint calls it (else asked)")
    add.add_argument("--name", metavar="NAME", help="what you call it (else as the endpoint does)")
    add.add_argument("--no-test", action="store_true", help="add it without trying it")
    for name, purpose in (
        ("allow", "say what a remote model would be sent of a repository, and allow it"),
        ("deny", "send nothing of a repository to a remote model"),
    ):
        action = actions.add_parser(name, help=purpose, description=purpose)
        action.set_defaults(command=f"models {name}")
        action.add_argument(
            "name", metavar="NAME", help="as in the settings (else all that wait)", nargs="?"
        )
        action.add_argument(
            "--repo",
            metavar="DIR",
            help="which repository (else the one around this folder)",
        )
        action.add_argument("--yes", action="store_true", help="do not ask")
        action.add_argument(
            "--standalone",
            action="store_true",
            help="do without the kernel that all programs share",
        )
