"""The replies that arbitrary lines must get, computed without the kernel's code."""

import json
from collections import Counter
from typing import Any

MAIN, NOBODY = -1, -1


class Tally:
    """Counts the replies that are owed, by callbackId; a malformed line may be owed one with -1."""

    def __init__(self) -> None:
        self.owed: Counter[int] = Counter()
        self.malformed = 0

    def note(self, line: bytes) -> None:
        """Take one line into account."""
        if not line.strip():
            return
        envelope = _well_formed(line)
        if envelope is None:
            self.malformed += not _is_reply(line)
        elif not envelope["isReply"] and envelope["callbackId"] != NOBODY:
            self.owed[envelope["callbackId"]] += 1

    def judge(self, replies: list[dict[str, Any]]) -> list[str]:
        """Everything that is wrong with these replies."""
        # A refused turn is answered twice: by its error and by ``done``, which closes the window.
        given = Counter(reply["callbackId"] for reply in replies if not _is_done(reply))
        unanswered = self.owed - given
        surplus = sum((given - self.owed).values())
        complaints = [f"never answered: {unanswered}"] if unanswered else []
        if surplus > self.malformed:
            complaints.append(f"{surplus} replies too many for {self.malformed} malformed lines")
        return complaints


def _well_formed(line: bytes) -> dict[str, Any] | None:
    """The envelope, if every reader of JSON would agree that the line is one."""
    try:
        envelope = json.loads(line.decode("utf-8"), parse_constant=_refuse)
        json.dumps(envelope, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        return None
    if not isinstance(envelope, dict):
        return None
    kinds = {"sessionId": int, "toMain": bool, "callbackId": int, "isReply": bool, "message": dict}
    typed = all(type(envelope.get(key)) is kind for key, kind in kinds.items())
    return envelope if typed and isinstance(envelope["message"].get("type"), str) else None


def _is_reply(line: bytes) -> bool:
    """Whether a lenient reader would call the malformed line a reply, which nobody answers."""
    try:
        envelope = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(envelope, dict) and envelope.get("isReply") is True


def _is_done(reply: dict[str, Any]) -> bool:
    data = reply.get("data")
    return isinstance(data, dict) and data.get("type") == "done"


def _refuse(constant: str) -> None:
    raise ValueError(constant)
