import dataclasses
import os
import signal
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest
from agent.calling import Call
from codekernel.agent.tool import ToolContext, ToolOutcome
from codekernel.agent.tool_policy import ToolLimits
from codekernel.agent.workspace.terminals import TerminalOutput, strip_escapes

posix_only = pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals of POSIX")


class Session:
    """A program in a terminal, and all it has said."""

    def __init__(self, call: Call, command: str) -> None:
        self._call = call
        outcome = call("start_session", command=command)
        assert outcome.success, outcome.text
        self.id = str(outcome.data["session_id"])
        self.said = str(outcome.data["output"])

    def type(self, text: str) -> ToolOutcome:
        return self._call("send_input", session_id=self.id, input_text=text)

    def read(self, timeout: float = 5) -> ToolOutcome:
        outcome = self._call("read_output", session_id=self.id, timeout=timeout)
        self.said += str(outcome.data["output"])
        return outcome

    def expect_output(self, text: str) -> None:
        """The test's own time limit ends a wait in vain."""
        while text not in self.said:
            self.read()

    def close(self) -> ToolOutcome:
        return self._call("close_session", session_id=self.id)


def ends(pid: int) -> None:
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        threading.Event().wait(0.01)


@posix_only
def test_a_program_runs_in_a_real_terminal(repo: Path, call: Call) -> None:
    session = Session(call, "sh")
    session.type("tty; test -t 0 && echo is-a-$((1+1))-terminal")
    session.expect_output("is-a-2-terminal")
    assert "/dev/" in session.said
    session.type("stty size; X=kept")
    session.expect_output("40 160")
    session.type('echo "was $X"; pwd')
    session.expect_output("was kept\n")
    session.expect_output(str(repo.resolve()))
    assert session.id in call("list_sessions").text
    assert session.close().success
    assert call("list_sessions").text == "No active sessions"


@posix_only
def test_control_c_reaches_the_program(call: Call) -> None:
    command = "trap 'echo interrupted' INT; echo ready; while :; do sleep 0.1; done"
    session = Session(call, command)
    session.expect_output("ready")
    session.type("\x03")
    session.expect_output("interrupted")


@posix_only
def test_control_c_reaches_the_program_even_if_we_were_started_without_it(call: Call) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        session = Session(call, "trap 'echo interrupted' INT; echo ready; read line")
    finally:
        signal.signal(signal.SIGINT, before)
    session.expect_output("ready")
    session.type("\x03")
    session.expect_output("interrupted")


@posix_only
def test_the_end_of_a_program_is_reported_and_its_last_output_kept(call: Call) -> None:
    session = Session(call, "echo last words; exit 4")
    while "ended with 4" not in session.read().text:
        pass
    assert "last words" in session.said
    failed = session.type("anybody?")
    assert not failed.success
    assert "has ended with 4" in failed.text
    assert session.close().success


@pytest.mark.slow
@posix_only
def test_silence_is_a_success_that_says_so(call: Call) -> None:
    session = Session(call, "sleep 600")
    silence = session.read(timeout=0.2)
    assert silence.success
    assert silence.text == "[no output within timeout]"


@posix_only
@pytest.mark.slow
def test_a_session_is_closed_with_all_it_started_however_stubborn(call: Call) -> None:
    session = Session(call, "trap '' HUP TERM INT; sleep 600 & echo pid=$!=; wait; sleep 600")
    session.expect_output("=\n")
    pid = int(session.said.split("=")[1])
    assert psutil.pid_exists(pid)
    assert session.close().success
    ends(pid)


@posix_only
def test_closing_the_context_ends_every_session(context: ToolContext, call: Call) -> None:
    sessions = [Session(call, "echo pid=$$=; exec sleep 600") for _ in range(2)]
    for session in sessions:
        session.expect_output("=\n")
    context.close()
    for session in sessions:
        ends(int(session.said.split("=")[1]))
    assert context.terminals.list_open() == []


@posix_only
@pytest.mark.slow
def test_a_flood_is_bounded_and_its_end_is_kept(context: ToolContext, call: Call) -> None:
    small = dataclasses.replace(context, limits=ToolLimits(max_command_characters=2_000))

    def call_small(name: str, within: ToolContext = small, /, **given: Any) -> ToolOutcome:
        return call(name, within, **given)

    flooding = Session(call_small, "seq 1 300000; sleep 600")
    while "300000" not in flooding.said:
        outcome = flooding.read()
        assert len(outcome.text) < 2_200
    assert "earlier characters dropped" in flooding.said
    endless = Session(call_small, "yes")
    for _ in range(3):
        assert len(endless.read(timeout=0.3).text) < 2_200
    assert endless.close().success


@pytest.mark.slow
@posix_only
def test_a_program_that_does_not_read_cannot_make_us_wait_for_ever(
    context: ToolContext, call: Call
) -> None:
    brief = dataclasses.replace(context, limits=ToolLimits(timeout_seconds=0.5))
    session = Session(call, "stty raw -echo; echo deaf; sleep 600")
    session.expect_output("deaf")
    outcome = call("send_input", brief, session_id=session.id, input_text="x" * 1_000_000)
    assert not outcome.success
    assert "does not read its input" in outcome.text


@posix_only
@pytest.mark.slow
def test_there_are_only_so_many_sessions(context: ToolContext, call: Call) -> None:
    two = dataclasses.replace(context, limits=ToolLimits(max_terminals=2))
    for _ in range(2):
        assert call("start_session", two, command="sleep 600").success
    third = call("start_session", two, command="sleep 600")
    assert not third.success
    assert "close one" in third.text


def test_a_session_that_is_not_there_is_reported_as_missing(call: Call) -> None:
    for name, given in (
        ("send_input", {"input_text": "x"}),
        ("read_output", {}),
        ("close_session", {}),
    ):
        outcome = call(name, session_id="nobody", **given)
        assert not outcome.success
        assert "Session nobody not found" in outcome.text
    assert not call("start_session", command=" ").success


def test_characters_that_are_cut_in_two_come_whole_and_escapes_do_not() -> None:
    output = TerminalOutput(100)
    for byte in "caf\u00e9 \U0001f600\n".encode():
        output.write(bytes([byte]))
    output.write(b"\xff")
    assert output.take() == "caf\u00e9 \U0001f600\n\ufffd"
    assert output.take() == ""
    shown = "\x1b[1;31mred\x1b[0m\r\n\x1b]0;title\x07\x1b[?2004hplain\x07"
    assert strip_escapes(shown) == "red\nplain"


def test_the_end_is_kept_whatever_the_pieces() -> None:
    output = TerminalOutput(10)
    for number in range(1_000):
        output.write(f"{number:03d} ".encode())
    text = output.take()
    assert text == "[... 3,990 earlier characters dropped ...]\n7 998 999 "
