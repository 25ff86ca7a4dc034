"""One life of a kernel on a small disk, and what must hold at each moment of it."""

import json
import os
import random
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from support.agent_client import SKIP, AgentClient, list_tool_results
from support.chat_server import (
    ChatServer,
    ReceivedRequest,
    SetEvent,
    Step,
    WaitForEvent,
    delta,
    end_reply,
    reply_calls,
    reply_text,
)
from support.conversation_client import (
    ENVIRON,
    SESSION,
    ConversationClient,
    answer_of,
    chat_settings,
)
from support.index_client import IndexClient
from support.kernel_process import KernelProcess, code_of
from support.small_disk import SmallDisk, small_disk, system

RECOVERED_WITHIN_SECONDS = 60.0
POLL_SECONDS = 0.05
CONVERSATIONS = (1, 2)
AGENT_CONVERSATION = 3
DISK_BYTES = (5_000_000, 9_000_000)
FILES = 900
# Opening vectors takes a process two seconds of CPU.
SHARE_WITH_VECTORS = 0.2
# A disk has no more bytes, or no more places for files.
SHARE_OF_BYTES = 0.7


class Broken(Exception):
    """Something did not hold."""


def can_mount() -> bool:
    """Whether a disk can be mounted here."""
    return os.name == "posix" and os.geteuid() == 0 and system("which", "mount")


class Life:
    """Use as a context; ``act`` does one thing at random, ``recover`` checks the end."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._folder = folder
        self._chance = chance
        self._held = ExitStack()
        self._actions: list[str] = []
        self.counts: dict[str, int] = {}
        # What was shown and must not be gone, by conversation, in order.
        self._shown: dict[int, list[str]] = {number: [] for number in CONVERSATIONS}
        # What an end on a full disk may have cost; a journal may bring it back, whole or in part.
        self._unsaved_at_end: dict[int, list[str]] = {number: [] for number in CONVERSATIONS}
        # Files as they were last known to be, and the word by which each is found.
        self._contents: dict[str, str] = {}
        self._found_before: set[str] = set()
        self._pause: tuple[threading.Event, threading.Event] | None = None
        self._agent_edit: tuple[str, str] | None = None
        self._number = 0

    def __enter__(self) -> Self:
        size = self._chance.randint(*DISK_BYTES)
        self._disk: SmallDisk = self._held.enter_context(
            small_disk(self._folder / "disk", size, files=FILES)
        )
        self._server = self._held.enter_context(ChatServer([self._answer]))
        self._user_data, self._repo = (self._disk.place / name for name in ("userData", "demo"))
        self._user_data.mkdir()
        self._repo.mkdir()
        for number in range(self._chance.randint(3, 12)):
            self._write(f"file_{number}.py")
        chat_settings(
            self._user_data, self._server.url, vectors=self._chance.random() < SHARE_WITH_VECTORS
        )
        self._start()
        self._window.wait_until_idle()
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def story(self) -> str:
        """What was done so far."""
        return " ".join(self._actions) or "nothing"

    def act(self) -> None:
        """Do one thing, and see what must hold after it."""
        actions = {
            self._fill: 4,
            self._free: 2,
            self._ask: 5,
            self._ask_and_fill_meanwhile: 3,
            self._save_file: 3,
            self._have_edited: 2,
            self._search: 3,
            self._restart: 1,
        }
        action = self._chance.choices(list(actions), list(actions.values()))[0]
        name = action.__name__.strip("_")
        self._actions.append(name)
        self.counts[name] = self.counts.get(name, 0) + 1
        action()
        self._check_shown()

    def recover(self) -> None:
        """Make room, and see that everything is as if there had always been some."""
        self._actions.append("recover")
        self._disk.free()
        for number, answers in self._shown.items():
            self._until(
                lambda number=number, answers=answers: self._saved(number) == answers,
                f"conversation {number} on the disk",
            )
        self._save_file()
        for name in self._contents:
            self._until(
                lambda name=name: name in self._window.search(_word(self._contents[name])),
                f"{name} found",
            )
        self._until(lambda: self._window.status()["trouble"] == "", "no trouble")
        if self._kernel.stop() != 0:
            raise Broken("the kernel did not end cleanly")
        if "Traceback" in self._kernel.stderr:
            raise Broken(f"stderr: {self._kernel.stderr[-500:]}")

    # Actions.

    def _fill(self) -> None:
        if self._chance.random() < SHARE_OF_BYTES:
            self._disk.fill(self._chance.choice([0, 0, 4096, 40_000, 200_000]))
        else:
            self._disk.fill_names()

    def _free(self) -> None:
        self._disk.free()

    def _ask(self) -> None:
        number = self._chance.choice(CONVERSATIONS)
        self._ended(number, self._asker.ask(f"What is {self._next_word()}?", number))

    def _ask_and_fill_meanwhile(self) -> None:
        number = self._chance.choice(CONVERSATIONS)
        self._pause = (threading.Event(), threading.Event())
        begun, go_on = self._pause
        callback = self._asker.ask(f"What is {self._next_word()}?", number)
        if not begun.wait(30):
            raise Broken("the question never reached the model")
        self._fill()
        go_on.set()
        self._ended(number, callback)

    def _ended(self, number: int, callback: int) -> None:
        data = self._asker.wait_for_reply(callback, "done")["data"]
        replies = self._asker.list_replies(callback)
        refused = [line for line in replies if code_of(line) != "SUCCESS"]
        if refused or data["outcome"] != "done":
            raise Broken(f"a question failed: {refused or data}")
        self._shown[number].append(answer_of(replies))
        if data.get("unsaved"):
            self.counts["answers said to be unsaved"] = (
                self.counts.get("answers said to be unsaved", 0) + 1
            )
        elif self._saved(number) != self._shown[number]:
            raise Broken(f"conversation {number} is not on the disk and done does not say so")

    def _save_file(self) -> None:
        """A person saves a file, if the disk lets them."""
        self._write(f"file_{self._chance.randint(0, 20)}.py")

    def _have_edited(self) -> None:
        """An agent changes a file, or says that it could not."""
        name = self._chance.choice(sorted(self._contents))
        after = f"# {self._next_word()}\n" + "x = 1\n" * self._chance.choice([10, 3000])
        self._agent_edit = (name, after)
        replies = AgentClient(self._asker).run_task("Change it", AGENT_CONVERSATION)
        self._agent_edit = None
        told = list_tool_results(replies)
        if not told:
            raise Broken(f"an agent did nothing: {[line['status'] for line in replies][-2:]}")
        text, is_error = told[-1]
        now = (self._repo / name).read_text(encoding="utf-8")
        if now != (self._contents[name] if is_error else after):
            raise Broken(f"{name} is neither as before nor as after an edit that said {text[:200]}")
        if not is_error:
            self._contents[name] = after
            self._found_before.discard(name)
        left = [path.name for path in self._repo.iterdir() if path.name not in self._contents]
        if left:
            raise Broken(f"an edit left {left}")

    def _search(self) -> None:
        for name in sorted(self._contents):
            reply = self._window.request("search", query=_word(self._contents[name]))
            if code_of(reply) != "SUCCESS":
                raise Broken(f"a search failed: {reply['status']}")
            found = {hit["filePath"] for hit in reply["data"]["results"]}
            if name in self._found_before and name not in found:
                raise Broken(f"{name} was found before, and is not any more")
            if name in found:
                self._found_before.add(name)

    def _restart(self) -> None:
        """End and begin; what a full disk did not take by then is gone, and was said to be."""
        if self._kernel.stop() != 0:
            raise Broken("the kernel did not end cleanly")
        for number in CONVERSATIONS:
            before, self._shown[number] = self._shown[number], self._saved(number)
            self._unsaved_at_end[number] += before[len(self._shown[number]) :]
        self._start()

    # What must hold.

    def _check_shown(self) -> None:
        for number, answers in self._shown.items():
            if not answers:
                continue
            reply = self._window.request("getConversation", conversationId=number)
            if code_of(reply) != "SUCCESS":
                raise Broken(f"conversation {number} cannot be read: {reply['status']}")
            read = self._expected(number, reply["data"]["history"])
            if read != answers:
                raise Broken(f"conversation {number} has {len(read)} answers of {len(answers)}")

    def _saved(self, number: int) -> list[str]:
        path = self._user_data / "conversations" / f"conversation-{number}.json"
        try:
            return self._expected(number, json.loads(path.read_bytes())["history"])
        except FileNotFoundError:
            return []

    def _expected(self, number: int, turns: list[Any]) -> list[str]:
        """The answers of a history without those that a journal has brought back."""
        may_be_there = self._unsaved_at_end[number]
        return [
            turn["answer"]
            for turn in turns
            if turn["answer"] in self._shown[number]
            or not any(known.startswith(turn["answer"]) for known in may_be_there)
        ]

    def _until(self, is_true: Any, what: str) -> None:
        deadline = time.monotonic() + RECOVERED_WITHIN_SECONDS
        while not is_true():
            if time.monotonic() > deadline:
                raise Broken(f"never: {what}; {self._window.status()}")
            time.sleep(POLL_SECONDS)

    # The parts.

    def _start(self) -> None:
        self._kernel = self._held.enter_context(KernelProcess(self._user_data, environ=ENVIRON))
        self._window = IndexClient(self._kernel, SESSION)
        self._asker = ConversationClient(self._kernel, self._user_data)
        self._kernel.open(self._repo, SESSION)

    def _write(self, name: str) -> None:
        content = f"def {self._next_word()}():\n    return {self._number}\n"
        try:
            beside = self._repo / f".{name}"
            beside.write_text(content, encoding="utf-8")
            beside.replace(self._repo / name)
        except OSError:
            beside.unlink(missing_ok=True)
            return
        self._contents[name] = content
        self._found_before.discard(name)

    def _next_word(self) -> str:
        self._number += 1
        return f"quokka{self._number}zebra"

    def _answer(self, received: ReceivedRequest) -> list[Step]:
        if self._agent_edit:
            if received.json["messages"][-1]["role"] == "tool":
                return reply_text("Tried.")
            name, content = self._agent_edit
            return reply_calls(
                SKIP, ("edit_file", {"path": name, "mode": "overwrite", "content": content})
            )
        words = f"Answer {self._next_word()} " + "word " * self._chance.choice([5, 500, 6000])
        pause, self._pause = self._pause, None
        if pause is None:
            return reply_text(words, "The end.")
        return [
            delta(words),
            SetEvent(pause[0]),
            WaitForEvent(pause[1]),
            delta("The end."),
            *end_reply(),
        ]


def _word(content: str) -> str:
    return next(word for word in content.replace("(", " ").split() if word.startswith("quokka"))
