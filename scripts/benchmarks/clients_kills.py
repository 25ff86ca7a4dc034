"""Kill -9 of the kernel and of its clients under load: every answer comes, and nothing is lost.

Front ends, an MCP server, a terminal, a conversation and an agent work meanwhile.
"""

import itertools
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from clients_answers import open_mcp_server
from clients_kills_turns import QuestionLane, TaskLane, answer_scripted, open_window
from clients_place import SESSION, Place, is_same_answer, poll, read_answer
from clients_rows import AnswerTally, OpenClient, Row
from support.chat_server import ChatServer
from support.conversation_client import chat_settings, write_sources
from support.kernel_process import KernelProcess, code_of

FRONT_ENDS = 2
MAX_ANSWER_SECONDS = 2.0
MAX_PAUSE_SECONDS = 0.5
MAX_SHOWN_FAILURES = 3
# Between two requests of a client: six that never think only measure how busy two cores are.
THINK_SECONDS = 0.1
# Half of the kills are of the kernel: everybody depends on it.
KERNEL_SHARE = 0.5


class Lane:
    """A client that works on a thread of its own, and is opened again when it was killed."""

    def __init__(self, name: str, tally: AnswerTally, open_client: OpenClient) -> None:
        self.name, self._tally, self._open_client = name, tally, open_client
        self._pid: int | None = None
        self.answers = 0
        self._is_killed = False
        self._is_stopping = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def kill(self) -> bool:
        """Kill the client, if it has a process; it is opened again."""
        with self._lock:
            if self._pid is None:
                return False
            self._is_killed = True
            os.kill(self._pid, signal.SIGKILL)
            self._pid = None
            return True

    def stop(self) -> None:
        """End after the present answer; the client stays attached until ``close``."""
        self._is_stopping = True
        self._thread.join()

    def _run(self) -> None:
        while not self._is_stopping:
            self._is_killed = False
            try:
                with self._open_client(self._tally) as (pid, step):
                    with self._lock:
                        self._pid = pid
                    while not self._is_stopping:
                        step()
                        self.answers += 1
                        time.sleep(THINK_SECONDS)
            except (AssertionError, OSError, ValueError) as error:
                if not self._is_killed:
                    self._tally.failures.append(f"{self.name}: {error!s:.300}")
            finally:
                with self._lock:
                    self._pid = None


def measure_kills(place: Place, _runs: int, *, kills: int, seed: int) -> Iterator[Row]:
    """Kill so often at random moments, then look at what is left."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    tally = AnswerTally()
    demo = place.repo.parent / "demo"
    with ExitStack() as opened:
        server = opened.enter_context(ChatServer([answer_scripted]))
        demo.mkdir(exist_ok=True)
        write_sources(demo)
        chat_settings(place.user_data, server.url, vectors=True)
        opened.callback((place.user_data / "settings.json").unlink)
        place.warm_up()
        conversation = QuestionLane(place, demo)
        agent = TaskLane(place, demo)
        lanes = [
            *(
                Lane(f"front end {number}", tally, FrontEndLane(place).open)
                for number in range(FRONT_ENDS)
            ),
            Lane("mcp", tally, lambda tally: open_mcp_lane(place, tally)),
            Lane("terminal", tally, lambda tally: open_terminal(place, tally)),
            Lane("conversation", tally, conversation.open),
            Lane("agent", tally, agent.open),
        ]
        started = time.monotonic()
        killed = {"kernel": 0, "client": 0}
        while sum(killed.values()) < kills:
            time.sleep(chance.random() * MAX_PAUSE_SECONDS)
            if chance.random() < KERNEL_SHARE:
                before = [lane.answers for lane in lanes]
                killed["kernel"] += _kill_kernel(place)
                _wait_for_answers(lanes, before)
            else:
                killed["client"] += chance.choice(lanes).kill()
        wall = time.monotonic() - started
        for lane in lanes:
            lane.stop()
        left = _list_sessions(place)
        lost = [*conversation.find_lost(), *agent.find_lost()]
    late = sum(each > MAX_ANSWER_SECONDS for each in tally.seconds)
    kinds = ", ".join(f"{what} {seconds:.2f} s" for what, seconds in tally.slowest.items())
    figure = (
        f"{len(tally.seconds)} answers, {len(tally.failures)} wrong or missing, {late} over 2 s"
        f" (slowest: {kinds}) {tally.failures[:MAX_SHOWN_FAILURES] or ''}"
    )
    yield (
        f"{killed['kernel']} kills of the kernel, {killed['client']} of clients in {wall:.0f} s",
        figure,
        not tally.failures and not late,
    )
    yield (
        f"{len(conversation.shown)} questions and {len(agent.written)} edits under these kills",
        f"{len(lost)} lost {lost[:MAX_SHOWN_FAILURES] or ''}",
        not lost,
    )
    yield "sessions left behind by killed clients", str(left), left == 0


def _wait_for_answers(lanes: list[Lane], before: list[int]) -> None:
    """Wait until each client was answered again; one that gets no answer fails by itself."""
    for _ in poll():
        if all(lane.answers > count for lane, count in zip(lanes, before, strict=True)):
            return


def _kill_kernel(place: Place) -> bool:
    pid = place.find_kernel()
    if pid is None:
        return False
    os.kill(pid, signal.SIGKILL)
    return True


def _list_sessions(place: Place) -> int:
    """The clients that are still attached although all have ended."""
    for _ in poll():
        names = [each["name"] for each in place.kernel.status()["clients"]]
        if names == ["test"] or not names:
            break
    return len(names) - names.count("test")


class FrontEndLane:
    """A front end that searches; each reply must be the one to its query."""

    def __init__(self, place: Place) -> None:
        self._place = place

    @contextmanager
    def open(self, tally: AnswerTally) -> Iterator[tuple[int, Callable[[], None]]]:
        """Attach ``codekernel serve`` and open the repository."""
        with open_window(self._place, self._place.repo, tally) as front_end:
            yield front_end.process.pid, lambda: self._search(front_end, tally)

    def _search(self, front_end: KernelProcess, tally: AnswerTally) -> None:
        query = self._place.next_query()
        with tally.time_answer("search"):
            reply = front_end.request("search", session=SESSION, query=query)
        front_end.forget()
        if code_of(reply) != "SUCCESS":
            raise AssertionError(f"{query!r}: {reply['status']}")
        answer = read_answer(reply["data"]["results"])
        allowed = (self._place.answers[query], self._place.lexical_answers[query])
        if not any(is_same_answer(answer, expected) for expected in allowed):
            raise AssertionError(f"not the answer to {query!r}: {answer}")


@contextmanager
def open_mcp_lane(place: Place, tally: AnswerTally) -> Iterator[tuple[int, Callable[[], None]]]:
    """An MCP server that searches."""
    with open_mcp_server(place) as (process, ask):

        def step() -> None:
            query = place.next_query()
            with tally.time_answer("mcp search"):
                answer = ask(query)
            if not answer:
                raise AssertionError(f"no answer to {query!r}")

        yield process.pid, step


@contextmanager
def open_terminal(place: Place, tally: AnswerTally) -> Iterator[tuple[None, Callable[[], None]]]:
    """A person who searches again and again; each search must print what it always does."""
    queries = itertools.cycle(place.printed)

    def step() -> None:
        query = next(queries)
        with tally.time_answer("terminal"):
            run = place.run("search", query)
        if run.output != place.printed[query]:
            raise AssertionError(f"search {query!r} printed something else {run.notices}")

    yield None, step
