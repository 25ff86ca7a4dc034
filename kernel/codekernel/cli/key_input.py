"""Ask for an API key in a terminal, or read it from stdin; never from the arguments."""

import sys
from getpass import getpass

from codekernel.cli.process import raise_on_interrupt
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import WrongParam

# Characters; real keys have some hundreds. More is a file given by mistake.
MAX_KEY_CHARS = 10_000


def read_key(name: str) -> str:
    """Return the key of a model. Raises WrongParam."""
    if sys.stdin.isatty():
        # getpass turns the echo on again only if Ctrl-C is an exception.
        with raise_on_interrupt():
            try:
                text = getpass(f"API key of {escape_line(name)}: ")
            except EOFError:
                text = ""
    else:
        text = sys.stdin.read(MAX_KEY_CHARS + 1)
    entered = text.strip()
    if not entered:
        raise WrongParam("no key was entered, so nothing was stored")
    if len(entered) > MAX_KEY_CHARS or any(map(str.isspace, entered)) or not entered.isprintable():
        raise WrongParam("this is no key: it must be one word; nothing was stored")
    return entered
