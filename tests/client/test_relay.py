"""A relay's link to kernels that are scripted here, at a real endpoint."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from client.test_relay_state import notification, reply, request
from codekernel.client.relay import KernelLink, make_attach_line
from codekernel.client.relay_state import MAX_DEATHS, RelayState
from codekernel.transport.local_endpoint import LocalListener, LocalPipe, choose_endpoint_path

JOIN_TIMEOUT_SECONDS = 60
Script = Callable[[LocalPipe], None]


@contextmanager
def scripted_kernels(user_data: Path, *scripts: Script) -> Iterator[list[int]]:
    """Each connection is another kernel, as far as a client can tell; counts them."""
    listener = LocalListener(choose_endpoint_path(user_data))
    served: list[int] = []

    def serve() -> None:
        for number, script in enumerate(scripts):
            pipe = listener.accept()
            if not pipe:
                return
            served.append(number)
            script(pipe)
            pipe.close()

    serving = threading.Thread(target=serve)
    serving.start()
    yield served
    listener.close()
    serving.join(JOIN_TIMEOUT_SECONDS)


def read_until(pipe: LocalPipe, wanted: bytes) -> None:
    received = b""
    while wanted not in received:
        piece = pipe.read(10_000)
        assert piece, received
        received += piece


def answer_attach(pipe: LocalPipe, when_sent: bytes = b'"attach"') -> None:
    read_until(pipe, when_sent)
    pipe.write(reply(make_attach_line("test").strip()) + b"\n")


def open_link(user_data: Path) -> KernelLink:
    return KernelLink(user_data, RelayState(), make_attach_line("test"))


def read_all(link: KernelLink) -> list[bytes]:
    return b"".join(link.iterate_output()).splitlines()


def test_a_reply_torn_by_a_death_is_followed_by_a_whole_one(tmp_path: Path) -> None:
    asked = request("search", 1, 7, query="x" * 5000)
    whole = reply(asked, results=[])

    def tear(pipe: LocalPipe) -> None:
        answer_attach(pipe)
        pipe.write(whole[:3000])

    def answer(pipe: LocalPipe) -> None:
        read_until(pipe, b'"search"')
        pipe.write(whole + b"\n")
        assert pipe.read(100) == b""

    with scripted_kernels(tmp_path, tear, answer):
        link = open_link(tmp_path)
        link.send(asked + b"\n")
        pieces = b""
        for piece in link.iterate_output():
            pieces += piece
            if whole in pieces:
                link.close()
        assert pieces.splitlines() == [whole[:3000], whole]


def test_kernels_that_die_without_an_answer_are_given_up(tmp_path: Path) -> None:
    def die(pipe: LocalPipe) -> None:
        answer_attach(pipe)
        pipe.write(notification("embeddingStatus", 7) + b"\n")  # is no answer

    with scripted_kernels(tmp_path, *[die] * (MAX_DEATHS + 5)) as served:
        link = open_link(tmp_path)
        *_, last = read_all(link)
        assert json.loads(last)["message"]["type"] == "kernelServerCrashed"
        assert "too often" in json.loads(last)["message"]["error"]
        assert link.is_lost
        assert len(served) == MAX_DEATHS + 1


def test_kernels_that_answer_before_they_die_are_replaced_again_and_again(tmp_path: Path) -> None:
    def answer_and_die(pipe: LocalPipe) -> None:
        answer_attach(pipe, b'"getRepos"')
        pipe.write(reply(request("getRepos", 1)) + b"\n")

    count = 3 * MAX_DEATHS
    with scripted_kernels(tmp_path, *[answer_and_die] * count):
        link = open_link(tmp_path)
        link.send(request("getRepos", 1) + b"\n")
        answers = 0
        for piece in link.iterate_output():
            answers += piece.count(b"\n")
            if answers == count:
                link.close()
                break
            if piece:
                link.send(request("getRepos", 1) + b"\n")
        assert answers == count


@pytest.mark.parametrize("is_retired", [True, False])
def test_a_refusal_ends_the_link_with_its_reason_and_a_retired_kernel_does_not(
    tmp_path: Path, *, is_retired: bool
) -> None:
    def refuse(pipe: LocalPipe) -> None:
        stopping = notification("kernelStopping", -1, reason="too many", retired=is_retired)
        pipe.write(stopping + b"\n")
        read_until(pipe, b'"createRepo"')

    def answer(pipe: LocalPipe) -> None:
        answer_attach(pipe, b'"createRepo"')
        pipe.write(reply(request("createRepo", 1)) + b"\n")

    with scripted_kernels(tmp_path, refuse, answer) as served:
        link = open_link(tmp_path)
        link.send(request("createRepo", 1) + b"\n")
        output = link.iterate_output()
        line = next(piece for piece in output if piece)
        link.close()
        if is_retired:
            assert json.loads(line)["status"]["code"] == "SUCCESS"
            assert served == [0, 1]
        else:
            assert json.loads(line)["message"]["error"] == "too many"
            assert (link.is_lost, served) == (True, [0])
