"""Check that Lark's official SDK takes our loopback platform for the real one.

The SDK cannot be installed beside our websockets, so that this makes an environment of its own
(`--venv DIR`, else a temporary one) and is no part of the test suite. What it checks: the SDK
connects, gets an event whole and in parts, answers a click, sends and updates a card and is refused
where the platform refuses; both sides read and write the same frames, and our long connection
answers an event as the SDK does.

    python scripts/check_lark_sdk.py
"""

import argparse
import base64
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "kernel"), str(ROOT / "tests")]

from codekernel.adapters.lark.api import LarkApi  # noqa: E402
from codekernel.adapters.lark.cards import TurnContent, TurnState, render_turn  # noqa: E402
from codekernel.adapters.lark.connection import LongConnection  # noqa: E402
from codekernel.adapters.lark.frames import (  # noqa: E402
    LarkFrame,
    decode_frame,
    make_ping,
    make_reply,
)
from support.lark_platform import (  # noqa: E402
    APP_ID,
    APP_SECRET,
    SERVICE_ID,
    LarkPlatform,
    PushedEvent,
)

SDK = "lark-oapi==1.7.5"

CHAT = "oc_1"

TOO_OFTEN_CODE, TOO_LARGE_CODE, UNKNOWN_ATTRIBUTE_CODE = 230020, 230025, 230099


class SdkPeer:
    """The process of the SDK."""

    def __init__(self, python: Path, domain: str) -> None:
        command = [
            str(python),
            str(ROOT / "scripts" / "lark_sdk_peer.py"),
            domain,
            APP_ID,
            APP_SECRET,
        ]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **command: Any) -> dict[str, Any]:
        """Give a command and return what came of it."""
        if self._process.stdin is None:
            raise SystemExit("the SDK takes no commands")
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self.read()

    def read(self) -> dict[str, Any]:
        """Return the next line; the SDK's own log is passed over."""
        for line in self._process.stdout or ():
            if line.startswith("{"):
                found: dict[str, Any] = json.loads(line)
                return found
        raise SystemExit("the SDK has ended")

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def install_sdk(folder: Path) -> Path:
    """Make the environment, if it is not there; return its Python."""
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", SDK]
        subprocess.run(command, check=True)
    return python


def check(name: str, holds: object) -> None:
    """Print a result; end with the first that is wrong."""
    print(f"{'ok' if holds else 'WRONG'}: {name}")
    if not holds:
        raise SystemExit(1)


def answer_of(platform: LarkPlatform, event: PushedEvent) -> Any:
    """Return what was answered to an event."""
    platform.wait_until(event.answered.is_set)
    return event.answers[0]


def check_messages(platform: LarkPlatform, peer: SdkPeer) -> None:
    """Send and update cards with the SDK."""
    (card,) = render_turn(TurnContent("shop", (), TurnState.RUNNING))
    content = json.dumps(card)
    sent = peer.ask(do="send", chat=CHAT, content=content, uuid="u1")
    check("the SDK sends a card", sent["code"] == 0 and sent["id"] in platform.messages)
    again = peer.ask(do="send", chat=CHAT, content=content, uuid="u1")
    check("the same uuid is the same message", again == sent)
    updated = peer.ask(do="update", id=sent["id"], content=content)
    check("the SDK updates a card", updated["code"] == 0)
    broken = json.dumps(card | {"elements": []})
    refused = peer.ask(do="update", id=sent["id"], content=broken)
    check("an unknown attribute is refused", refused["code"] == UNKNOWN_ATTRIBUTE_CODE)
    card["body"]["elements"] = [{"tag": "markdown", "content": "x" * 31_000}]
    large = peer.ask(do="update", id=sent["id"], content=json.dumps(card))
    check("more than 30 KB are refused", large["code"] == TOO_LARGE_CODE)
    codes = [peer.ask(do="update", id=sent["id"], content=content)["code"] for _ in range(8)]
    check("more than five updates a second are refused", TOO_OFTEN_CODE in codes)
    click = platform.click(sent["id"], {"button": "b1"})
    check("the SDK gets a click", peer.read()["value"] == {"button": "b1"})
    check("and its answer arrives", answer_of(platform, click)["toast"]["content"] == "seen")


def check_events(platform: LarkPlatform, peer: SdkPeer) -> None:
    """Send events to the SDK."""
    for parts in (1, 4):
        event = platform.say("hello 語", parts=parts)
        check(f"the SDK gets an event in {parts} parts", peer.read()["text"] == "hello 語")
        check("and acknowledges it", answer_of(platform, event) is None)


def check_frames(platform: LarkPlatform, peer: SdkPeer) -> None:
    """Compare what both sides read and write."""
    headers = (("type", "event"), ("k", "é"))
    frames = [
        make_ping(SERVICE_ID),
        LarkFrame(2**64 - 1, 7, -3, 1, headers, "gzip", "json", b"\0\xff", "n"),
        make_reply(LarkFrame(1, 2, 3, 1, headers), b"{}", 12),
    ]
    for frame in frames:
        read = peer.ask(do="frame", frame=base64.b64encode(frame.encode()).decode())
        numbers = [frame.sequence_id, frame.log_id, frame.service, frame.method]
        is_same = read["numbers"] == numbers
        is_same &= read["headers"] == [list(each) for each in frame.headers]
        is_same &= base64.b64decode(read["payload"]) == frame.payload
        check("the SDK reads our frame", is_same)
        check("and writes the same bytes", base64.b64decode(read["written"]) == frame.encode())
    written = [decode_frame(data).encode() == data for data in platform.frames]
    check(f"we write the SDK's {len(written)} frames as it does", written and all(written))
    pings = [data for data in platform.frames if decode_frame(data).get_header("type") == "ping"]
    check("its ping is ours", make_ping(SERVICE_ID).encode() in pings)


def read_answers(platform: LarkPlatform, push: Callable[[], PushedEvent]) -> tuple[Any, ...]:
    """Return the answer to an event without what differs by its nature: times and numbers."""
    first = len(platform.frames)
    event = push()
    platform.wait_until(event.answered.is_set)
    frame = next(
        each
        for each in map(decode_frame, platform.frames[first:])
        if each.get_header("message_id") == event.id
    )
    names = [name for name, _ in frame.headers]
    return frame.service, frame.method, names, json.loads(frame.payload)


def main() -> None:
    """Run all checks."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--venv", metavar="DIR", help="keep the SDK's environment here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, LarkPlatform() as platform:
        peer = SdkPeer(install_sdk(Path(args.venv or folder)), platform.url)
        try:
            platform.wait_until(lambda: platform.connection_count == 1)
            platform.wait_until(lambda: platform.pings > 0)
            print("ok: the SDK connects and pings")
            check_events(platform, peer)
            check_messages(platform, peer)
            check_frames(platform, peer)
            theirs = read_answers(platform, lambda: platform.say("compare"))
        finally:
            peer.close()
        platform.wait_until(lambda: platform.connection_count == 0)
        api = LarkApi(APP_ID, APP_SECRET, platform.url)
        connection = LongConnection(api.get_endpoint, lambda _: None)
        connection.start()
        platform.wait_until(lambda: platform.connection_count == 1)
        ours = read_answers(platform, lambda: platform.say("compare"))
        connection.stop()
        api.close()
        check("our answer to an event is the SDK's", ours == theirs)


if __name__ == "__main__":
    main()
