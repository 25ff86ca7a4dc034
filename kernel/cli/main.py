"""From the command line to a command. Light, because ``serve`` must be ready at once."""

import os
import sys

# The existing front end spawns its kernel with no arguments and no other variable than this.
FRONT_END_VARIABLE = "POCKETRAG_USERDATA_PATH"


def main(arguments: list[str] | None = None) -> int:
    """Run a command; its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if not words and os.environ.get(FRONT_END_VARIABLE):
        words = ["serve"]
    if words == ["serve"]:
        return _serve(None)
    from kernel.cli.commands import parse  # noqa: PLC0415 - argparse costs more than serve's whole start

    chosen = parse(words)
    if chosen.command == "serve":
        return _serve(chosen.user_data)
    if chosen.command == "models":
        from kernel.cli.models import models  # noqa: PLC0415 - only this command needs it

        return models(chosen.user_data)
    if chosen.command == "eval":
        from kernel.cli.eval import evaluate  # noqa: PLC0415 - only this command needs it

        return evaluate(chosen.user_data, chosen.repo, most=chosen.commits, as_json=chosen.json)
    if chosen.question == "why":
        from kernel.cli.why import why  # noqa: PLC0415 - only this command needs it

        return why(chosen.user_data, chosen.file)
    from kernel.cli.doctor import doctor  # noqa: PLC0415 - only this command needs it

    return doctor(chosen.user_data)


def _serve(user_data: str | None) -> int:
    from kernel.cli.serve import serve  # noqa: PLC0415 - only this command claims the descriptors

    return serve(user_data)
