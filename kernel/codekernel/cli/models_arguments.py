"""The arguments of ``codekernel models``."""

import argparse

_REPO_HELP = "which repository (else the repository around this folder)"
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
            help="which repository (else the repository around this folder)",
        )
        action.add_argument("--yes", action="store_true", help="do not ask")
        action.add_argument(
            "--standalone",
            action="store_true",
            help="do without the kernel that all programs share",
        )
