import dataclasses
import os
import threading
from pathlib import Path

import psutil
import pytest
from agent.calling import Call
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import ToolLimits
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled
from support.environ import Environ
from support.polling import wait_until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="written for a POSIX shell")

# Starts something that outlives it, in the background, and says its number.
LEAVES_ONE_BEHIND = "sleep 600 & echo $! > child.pid;"


def is_running(pid_file: Path) -> bool:
    pid = int(pid_file.read_text())
    return bool(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)


def test_a_command_says_what_it_printed_and_how_it_ended(repo: Path, call: Call) -> None:
    good = call("run_command", command="echo out; echo err >&2; pwd")
    assert good.success
    assert good.text == f"out\nerr\n{repo.resolve()}\n"
    bad = call("run_command", command="printf no; exit 3")
    assert not bad.success
    assert bad.text == "no\n[exit code 3]"
    assert call("run_command", command="true").text == "[no output]"
    (repo / "sub").mkdir()
    assert call("run_command", command="pwd", cwd="sub").text.endswith("/sub\n")
    for command in ("", "  ", "a\0b"):
        assert not call("run_command", command=command).success


def test_a_command_cannot_wait_for_input(call: Call) -> None:
    assert call("run_command", command="cat; read x || echo nobody").text == "nobody\n"


@pytest.mark.slow
def test_a_hanging_command_is_ended_with_all_it_started(repo: Path, call: Call) -> None:
    outcome = call("run_command", command=f"{LEAVES_ONE_BEHIND} echo begun; sleep 600", timeout=1)
    assert not outcome.success
    assert outcome.text == "begun\n[ended after 1 seconds, its time limit]"
    assert outcome.data["timed_out"]
    wait_until(lambda: not is_running(repo / "child.pid"))


@pytest.mark.slow
def test_a_command_that_will_not_be_asked_to_end_is_made_to(repo: Path, call: Call) -> None:
    stubborn = "trap '' TERM HUP INT; echo $$ > child.pid; while :; do sleep 0.1; done"
    assert not call("run_command", command=stubborn, timeout=0.5).success
    wait_until(lambda: not is_running(repo / "child.pid"))


def test_what_a_command_leaves_running_is_ended_and_not_waited_for(repo: Path, call: Call) -> None:
    outcome = call("run_command", command=f"{LEAVES_ONE_BEHIND} echo done")
    assert outcome.success
    assert outcome.text == "done\n"
    wait_until(lambda: not is_running(repo / "child.pid"))


@pytest.mark.slow
def test_a_flood_is_bounded_and_its_end_is_kept(context: ToolContext, call: Call) -> None:
    small = dataclasses.replace(context, limits=ToolLimits(max_command_characters=1_000))
    outcome = call("run_command", small, command="seq 1 200000")
    assert outcome.success
    assert outcome.text.endswith("199999\n200000\n")
    assert "earlier characters dropped" in outcome.text
    assert len(outcome.text) < 1_100
    endless = call("run_command", small, command="yes", timeout=1)
    assert not endless.success
    assert len(endless.text) < 1_200


def test_a_cancelled_command_is_ended(repo: Path, context: ToolContext, call: Call) -> None:
    cancel = CancelToken()
    ended = threading.Event()

    def run() -> None:
        with pytest.raises(Cancelled):
            call(
                "run_command",
                context.with_cancel(cancel),
                command=f"{LEAVES_ONE_BEHIND} wait",
            )
        ended.set()

    threading.Thread(target=run).start()
    wait_until((repo / "child.pid").exists)
    cancel.cancel()
    assert ended.wait(60)
    wait_until(lambda: not is_running(repo / "child.pid"))


def test_a_command_sees_nothing_of_what_is_meant_for_the_kernel(
    call: Call, environ: Environ
) -> None:
    environ["CODEKERNEL_USER_DATA"] = "/private"
    environ["OTHER"] = "kept"
    text = call("run_command", command="env").text
    assert "CODEKERNEL_" not in text
    assert "OTHER=kept\n" in text
    assert "GIT_TERMINAL_PROMPT=0\n" in text
