"""``codekernel team token``: the static tokens of a kernel that serves a team."""

import argparse
import os
import time

from codekernel.adapters.team.tokens import TokenFile
from codekernel.cli.output.terminal import print_line, print_notice
from codekernel.cli.process import ExitCode
from codekernel.domain.untrusted_text import escape_line
from codekernel.storage.user_data import open_user_data


def run_team_token(args: argparse.Namespace) -> int:
    """Add, list or revoke tokens. Raises KernelError."""
    tokens = TokenFile(open_user_data(args.user_data, os.environ).team_folder / "tokens.json")
    if args.action == "add":
        print_line(tokens.add(args.name))
        print_notice("it is shown this once: codekernel team token revoke takes it back")
    elif args.action == "list":
        for each in tokens.list_all():
            made = time.strftime("%Y-%m-%d", time.localtime(each.created_at))
            print_line(f"{each.id}  {escape_line(each.user)}  since {made}")
    else:
        count = tokens.revoke(args.name)
        print_line(f"revoked: {count}")
        return ExitCode.OK if count else ExitCode.FAILED
    return ExitCode.OK
