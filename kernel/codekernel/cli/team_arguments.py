"""The arguments of the commands for teams."""

import argparse
from pathlib import Path

from codekernel.cli.argument_types import parse_port_or_zero

DEFAULT_TEAM_PORT = 8791


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
