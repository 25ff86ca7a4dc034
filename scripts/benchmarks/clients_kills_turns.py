"""A conversation and an agent that are killed at any moment, and what must be left of them."""

import itertools
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from clients_place import SESSION, Place, open_folder, poll
from clients_rows import AnswerTally
from support.agent_client import SKIP, list_tool_results
from support.chat_server import Delay, ReceivedRequest, Step, delta, end_reply, reply_calls
from support.conversation_client import answer_of
from support.kernel_process import KernelProcess, Line, code_of

PIECES = 40
PIECE_SECONDS = 0.005
LINES = 2_000
# By the time, because a place can be used again; questions have even numbers, tasks odd ones.
FIRST_NUMBER = 10_000 * int(time.time())
# An acknowledgement, and the first of the two replies that end an interrupted turn.
_NOT_REFUSED = {"SUCCESS", "UNKNOW_ERROR"}


def answer_scripted(received: ReceivedRequest) -> Iterable[Step]:
    """Play the model: write the file that a task names, or stream an answer in pieces."""
    text = received.body.decode()
    task = re.findall(r"write file (\d+)", text)
    if task and '"role":"tool"' not in text.replace(": ", ":"):
        content = make_content(int(task[-1]))
        return reply_calls(
            SKIP, ("create_file", {"path": f"made/{task[-1]}.txt", "content": content})
        )
    steps: list[Step] = []
    for number in range(PIECES):
        steps += [delta(f"piece{number} "), Delay(PIECE_SECONDS)]
    return steps + end_reply()


def make_content(number: int) -> str:
    """The text of a file, long enough to be written in several steps."""
    return f"line of {number}\n" * LINES


class QuestionLane:
    """Asks question after question; ``shown`` is what was seen of each answer."""

    def __init__(self, place: Place, repo: Path) -> None:
        self._place, self._repo = place, repo
        self._numbers = itertools.count(FIRST_NUMBER, 2)
        self.shown: dict[int, str] = {}

    @contextmanager
    def open(self, tally: AnswerTally) -> Iterator[tuple[int, Callable[[], None]]]:
        """Attach a front end."""
        with open_window(self._place, self._repo, tally) as front_end:
            yield front_end.process.pid, lambda: self._ask(front_end, tally)

    def _ask(self, front_end: KernelProcess, tally: AnswerTally) -> None:
        number = next(self._numbers)
        front_end.forget()
        with tally.time_answer("conversation"):
            callback = begin_turn(front_end, "beginConversation", number, f"question {number}")
            try:
                wait_for_done(front_end, callback)
            finally:
                replies = list_replies(front_end, callback)
                if replies and code_of(replies[0]) == "SUCCESS":  # it was accepted
                    self.shown[number] = answer_of(replies)

    def find_lost(self) -> Iterator[str]:
        """Yield each question that is not kept as far as it was shown, or was begun twice."""
        _wait_until_recovered(self._place)
        for number, text in self.shown.items():
            turns = _read_history(self._place, number)
            if len(turns) > 1:
                yield f"question {number} was begun {len(turns)} times"
            elif not turns:
                yield f"question {number} is not kept"
            elif not str(turns[-1]["answer"]).startswith(text):
                yield f"question {number}: {len(text)} characters were shown, fewer are kept"


class TaskLane:
    """Gives task after task; ``written`` are those whose file was said to be written."""

    def __init__(self, place: Place, repo: Path) -> None:
        self._place, self._repo = place, repo
        self._numbers = itertools.count(FIRST_NUMBER + 1, 2)
        self._given: list[int] = []
        self.written: list[int] = []

    @contextmanager
    def open(self, tally: AnswerTally) -> Iterator[tuple[int, Callable[[], None]]]:
        """Attach a front end."""
        with open_window(self._place, self._repo, tally) as front_end:
            yield front_end.process.pid, lambda: self._run(front_end, tally)

    def _run(self, front_end: KernelProcess, tally: AnswerTally) -> None:
        number = next(self._numbers)
        self._given.append(number)
        front_end.forget()
        with tally.time_answer("agent"):
            callback = begin_turn(front_end, "beginAgentTurn", number, f"write file {number}")
            try:
                wait_for_done(front_end, callback)
            finally:
                results = list_tool_results(list_replies(front_end, callback))
                if any(f"{number}.txt" in text and not failed for text, failed in results):
                    self.written.append(number)

    def find_lost(self) -> Iterator[str]:
        """Yield each file that is missing or in part, or that undoing its turn does not remove.

        And each task that was begun twice.
        """
        _wait_until_recovered(self._place)
        with open_window(self._place, self._repo, AnswerTally()) as front_end:
            for number in self._given:
                if (begun := len(_read_history(self._place, number))) > 1:
                    yield f"task {number} was begun {begun} times"
                path = self._repo / "made" / f"{number}.txt"
                found = path.read_text(encoding="utf-8") if path.exists() else None
                if found is None and number in self.written:
                    yield f"file {number} was said to be written and is not there"
                elif found not in (None, make_content(number)):
                    yield f"file {number} is there in part"
                elif found is not None and not self._undo(front_end, number, path):
                    yield f"file {number} was written by a turn that cannot be undone"

    def _undo(self, front_end: KernelProcess, number: int, path: Path) -> bool:
        """Undo the turn that wrote a file; false if the file stays."""
        for turn in _read_history(self._place, number):
            front_end.request(
                "undoAgentTurn", session=SESSION, conversationId=number, time=turn["time"]
            )
        return not path.exists()


@contextmanager
def open_window(place: Place, repo: Path, tally: AnswerTally) -> Iterator[KernelProcess]:
    """Attach ``codekernel serve`` with a repository open."""
    with place.kernel.attach() as front_end:
        with tally.time_answer("openFolder"):
            open_folder(front_end, repo)
        yield front_end


def begin_turn(front_end: KernelProcess, kind: str, number: int, query: str) -> int:
    """Begin a turn of a new conversation; its callbackId."""
    return front_end.post(
        kind,
        session=SESSION,
        modelName="model",
        conversationId=number,
        query=query,
        turnKey=str(number),
    )


def wait_for_done(front_end: KernelProcess, callback: int) -> None:
    """Wait for the last reply of a turn: its end, or why it was refused."""

    def is_last(line: Line) -> bool:
        if not line["isReply"] or line["callbackId"] != callback:
            return False
        if line.get("data"):
            return bool(line["data"]["type"] == "done")
        return code_of(line) not in _NOT_REFUSED

    front_end.wait_for(is_last, f"the end of {callback}")


def list_replies(front_end: KernelProcess, callback: int) -> list[Line]:
    """All replies so far."""
    return [
        line for line in list(front_end.lines) if line["isReply"] and line["callbackId"] == callback
    ]


def _wait_until_recovered(place: Place) -> None:
    """Wait until a kernel has completed the histories from the journals."""
    with place.connect():
        for _ in poll():
            unfinished = place.user_data / "conversations" / "unfinished"
            if not [each for each in unfinished.glob("*") if each.suffix != ".lock"]:
                return


def _read_history(place: Place, number: int) -> list[Line]:
    path = place.user_data / "conversations" / f"conversation-{number}.json"
    return list(json.loads(path.read_bytes())["history"]) if path.exists() else []
