"""A paired device that goes on whatever dies: it follows, reads anew, sends and answers again."""

import itertools
import json
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from support.polling import pause, pause_at_random

Json = dict[str, Any]

REQUEST_TIMEOUT_SECONDS = 60.0
RETRY_SECONDS = 0.1
# The hub tells a heartbeat more often.
SILENCE_TIMEOUT_SECONDS = 90.0
PAGE_SIZE = 200
MAX_ANSWER_PAUSE_SECONDS = 0.05
# Of events after which the network is lost.
CUT_SHARE = 0.02

# A hub that begins has no machine yet, and its new tokens are not ours.
_PASSING = (401, 404, 409, 500, 502, 503, 504)


class GivenUp(Exception):
    """The campaign ends."""


@dataclass
class DeviceRecord:
    """What a device did and was told."""

    accepted: dict[str, str] = field(default_factory=dict)
    taken_back: set[str] = field(default_factory=set)
    decided: dict[tuple[str, str], bool] = field(default_factory=dict)
    refusals: dict[str, int] = field(default_factory=dict)
    gaps: int = 0
    resumes: int = 0


class ResumingDevice:
    """Follows all sessions on a thread; ``allows`` says how it answers permissions."""

    def __init__(self, name: str, key: str, url: str, *, allows: bool, seed: int) -> None:
        self.name, self._key, self._allows = name, key, allows
        self._chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self.record = DeviceRecord()
        self.messages: dict[str, dict[str, Json]] = {}
        self.is_stopping = False
        self._http = httpx.Client(base_url=url, timeout=REQUEST_TIMEOUT_SECONDS, trust_env=False)
        self._token = self._last_event_id = ""
        self._must_read = True
        self._answering: set[tuple[str, str]] = set()
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._answers = ThreadPoolExecutor(4)
        self._follower = threading.Thread(target=self._follow, name=name, daemon=True)

    def start(self) -> None:
        """Follow from now on."""
        self._follower.start()

    def close(self) -> None:
        """Stop following."""
        self.is_stopping = True
        self._answers.shutdown(cancel_futures=True)
        self._follower.join(REQUEST_TIMEOUT_SECONDS)
        self._http.close()

    def send(self, session_id: str, text: str) -> str:
        """Send a message until it is accepted; return its localId."""
        local_id = f"{self.name}-{next(self._numbers)}"
        body = {"text": text, "localId": local_id}
        answer = self.request("POST", f"/api/sessions/{session_id}/messages", body)
        if answer.json() != {"ok": True}:
            raise AssertionError(f"{local_id}: {answer.text}")
        self.record.accepted[local_id] = session_id
        return local_id

    def take_back(self, session_id: str, local_id: str) -> None:
        """Take back a message, if it still waits."""
        path = f"/api/sessions/{session_id}/messages/{local_id}"
        if self.request("DELETE", path).json()["status"] == "cancelled":
            self.record.taken_back.add(local_id)
            del self.record.accepted[local_id]

    def request(self, method: str, path: str, body: Json | None = None) -> httpx.Response:
        """Ask until the hub and its kernel answer. Raises GivenUp."""
        deadline = time.monotonic() + 2 * REQUEST_TIMEOUT_SECONDS
        while not self.is_stopping and time.monotonic() < deadline:
            try:
                answer = self._http.request(method, path, json=body, headers=self._sign())
            except (httpx.HTTPError, OSError, RuntimeError):
                self._pause()
                continue
            if answer.status_code == httpx.codes.OK:
                return answer
            self._note_refusal(answer)
            self._pause()
        raise GivenUp(f"{self.name}: {method} {path}")

    def list_messages(self, session_id: str) -> list[Json]:
        """Return what the device has of a session, in order."""
        with self._lock:
            known = self.messages.get(session_id, {}).values()
            return sorted(known, key=lambda each: int(each["seq"]))

    def _sign(self) -> dict[str, str]:
        if not self._token:
            answer = self._http.post("/api/auth", json={"accessToken": self._key})
            if answer.status_code != httpx.codes.OK:
                self._note_refusal(answer)
                raise httpx.HTTPError("not signed in")
            self._token = str(answer.json()["token"])
        return {"Authorization": f"Bearer {self._token}"}

    def _note_refusal(self, answer: httpx.Response) -> None:
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            self._token = ""
        name = f"{answer.request.method} {answer.status_code}"
        with suppress(ValueError, KeyError):
            name += f" {answer.json()['code']}"
        if answer.status_code not in _PASSING:
            name += f" {answer.text[:200]}"
        self.record.refusals[name] = self.record.refusals.get(name, 0) + 1

    def _pause(self) -> None:
        pause(RETRY_SECONDS)

    def _follow(self) -> None:
        while not self.is_stopping:
            try:
                for event_id, event in self._iterate_events():
                    self._apply(event)
                    self._last_event_id = event_id or self._last_event_id
                    if self._chance.random() < CUT_SHARE or self.is_stopping:
                        break
            except (httpx.HTTPError, OSError, RuntimeError, GivenUp):
                self._pause()

    def _iterate_events(self) -> Iterator[tuple[str, Json]]:
        headers = self._sign()
        if self._last_event_id:
            headers["Last-Event-ID"] = self._last_event_id
        with self._http.stream(
            "GET", "/api/events?all=1", headers=headers, timeout=SILENCE_TIMEOUT_SECONDS
        ) as response:
            if response.status_code != httpx.codes.OK:
                response.read()
                self._note_refusal(response)
                return
            event_id = ""
            for line in response.iter_lines():
                if line.startswith("id: "):
                    event_id = line.removeprefix("id: ")
                elif line.startswith("data: "):
                    yield event_id, json.loads(line.removeprefix("data: "))
                    event_id = ""

    def _apply(self, event: Json) -> None:
        session_id = event.get("sessionId", "")
        kind = event["type"]
        if kind == "connection-changed":
            self._begin(is_resumed=event["data"]["resume"] == "ok")
        elif kind == "messages-invalidated":
            self._read_session(session_id)
        elif kind == "message-received":
            with self._lock:
                message = event["message"]
                self.messages.setdefault(session_id, {})[message["id"]] = message
        elif kind == "messages-consumed":
            with self._lock:
                for message in self.messages.get(session_id, {}).values():
                    if message["localId"] and message["localId"] in event["localIds"]:
                        message["invokedAt"] = event["invokedAt"]
        elif kind in {"session-added", "session-updated"}:
            state = event["data"]["agentState"]
            self._answer_all(session_id, state.get("value", state)["requests"])

    def _begin(self, *, is_resumed: bool) -> None:
        if is_resumed and not self._must_read:
            self.record.resumes += 1
            return
        self.record.gaps += 1
        self._must_read = True
        for session in self.request("GET", "/api/sessions").json()["sessions"]:
            self._read_session(session["id"])
        self._must_read = False

    def _read_session(self, session_id: str) -> None:
        """Read a session and all its messages, page by page from the newest."""
        path = f"/api/sessions/{session_id}"
        session = self.request("GET", path).json()["session"]
        found: dict[str, Json] = {}
        cursor = ""
        while True:
            answer = self.request("GET", f"{path}/messages?limit={PAGE_SIZE}{cursor}").json()
            found.update((each["id"], each) for each in answer["messages"])
            page = answer["page"]
            if not page["hasMore"]:
                break
            cursor = f"&beforeSeq={page['nextBeforeSeq']}&beforeAt={page['nextBeforeAt']}"
        with self._lock:
            self.messages[session_id] = found
        self._answer_all(session_id, session["agentState"]["requests"])

    def _answer_all(self, session_id: str, requests: Json) -> None:
        for permission_id in requests:
            if (session_id, permission_id) not in self._answering:
                self._answering.add((session_id, permission_id))
                self._answers.submit(self._answer, session_id, permission_id)

    def _answer(self, session_id: str, permission_id: str) -> None:
        """Answer once; whether an answer counted whose reply was lost is not known."""
        pause_at_random(self._chance, MAX_ANSWER_PAUSE_SECONDS)
        word = "approve" if self._allows else "deny"
        path = f"/api/sessions/{session_id}/permissions/{permission_id}/{word}"
        while not self.is_stopping:
            try:
                answer = self._http.post(path, json={}, headers=self._sign())
            except (httpx.HTTPError, OSError, RuntimeError):
                self._pause()
                continue
            if answer.status_code == httpx.codes.OK:
                self.record.decided[(session_id, permission_id)] = self._allows
                return
            if answer.json().get("code") == "request_not_found":
                return  # another device was first, or the turn has ended
            self._note_refusal(answer)
            self._pause()
