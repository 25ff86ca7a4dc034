"""Check that the usual SDKs take our loopback Bot API for Telegram's.

aiogram and python-telegram-bot get environments of their own (`--folder DIR`, else a temporary
one), so that this is no part of the test suite. Each is a bot that is written to, sends, edits,
answers a pressed button, sends a file, and is refused where the platform refuses, with its words.

    python scripts/check_telegram_sdks.py
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests")]

from support.bot_api import TOKEN, BotApi, serve_bot_api  # noqa: E402

SDKS = {"aiogram_peer.py": "aiogram==3.31.0", "ptb_peer.py": "python-telegram-bot==22.8"}

USER = 7

TIMEOUT_SECONDS = 60

# What each SDK must have understood of a refusal.
EXPECTED = {
    "html": "can't parse entities",
    "long": "message is too long",
    "empty": "message text is empty",
    "same": "message is not modified",
    "soon": "retry",
}


def main() -> int:
    """Check both; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, help="where the environments are kept")
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as temporary:
        for program, package in SDKS.items():
            python = install(folder or Path(temporary), package)
            check(python, program)
            print(f"{package}: getMe, polling, send, edit, button, file and refusals are accepted")
    return 0


def install(folder: Path, package: str) -> Path:
    """Make the environment of a package, unless it is there; return its Python."""
    place = folder / package.partition("=")[0]
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        venv.create(place, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", package], check=True)
    return python


def check(python: Path, program: str) -> None:
    """Be a person to the bot of an SDK. Raises AssertionError."""
    api = BotApi()
    with serve_bot_api(api) as address:
        command = [str(python), str(ROOT / "scripts" / "telegram_sdks" / program), address, TOKEN]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                api.say(USER, "hello")
                echoed = api.wait_for_text(USER, "hello")
                require(echoed.entities[0]["type"] == "bold", "the echo is bold")
                query = api.press(USER, echoed, "Press")
                require(api.wait_for_text(USER, "edited").id == echoed.id, "the same message")
                require(api.callback_answers[query] == "got pressed-1", "the button is answered")
                output, _ = process.communicate(timeout=TIMEOUT_SECONDS)
            finally:
                process.kill()
    told = json.loads(output.splitlines()[-1])
    require(told["me"] == "code_test_bot", "the bot knows its name")
    for name, words in EXPECTED.items():
        found = told["refusals"].get(name, "")
        require(words in found.lower(), f"refusal {name!r}: {found!r}")
    documents = [message.document for message in api.list_messages(USER) if message.document]
    require(documents == [b"content"], "the file has arrived")


def require(is_true: bool, what: str) -> None:  # noqa: FBT001 - a condition
    """End with what was expected."""
    if not is_true:
        sys.exit(f"not so: {what}")


if __name__ == "__main__":
    sys.exit(main())
