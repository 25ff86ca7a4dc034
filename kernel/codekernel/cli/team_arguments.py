"""The arguments of the commands for teams."""

import argparse


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
