"""``codekernel agent --stdio`` in a real process."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from adapters.tricode.tricoding import SKIP, of_type, tricode
from support.chat_server import (
    ChatServer,
    SetEvent,
    Step,
    WaitForDisconnect,
    delta,
    reply_calls,
    reply_error,
    reply_text,
)
from support.command_line import CODEKERNEL, TIMEOUT_SECONDS, Terminal, run_with_closed_stdout
from support.conversation_client import chat_settings, write_sources
from support.kernel_process import bare_environment

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests" / "fixtures"
LISTING = [reply_calls(SKIP, ("list_directory", {"path": "."})), reply_text("有一个文件 a.txt")]


def test_the_lines_come_in_order_and_nothing_else(user_data: Path, repo: Path) -> None:
    (repo / "a.txt").write_text("x")
    with ChatServer(LISTING) as server:
        chat_settings(user_data, server.url)
        code, lines, stderr = tricode(user_data, repo, "--stdio", "list files")
    assert (code, stderr) == (0, "")
    assert [line["type"] for line in lines] == [
        "system", "round", "tool_call", "tool_result", "tool_call", "tool_result", "round", "final",
    ]  # fmt: skip
    assert re.fullmatch(r"Session ID: [0-9a-f]{8}", lines[0]["message"])
    assert lines[-1] == {"type": "final", "content": "有一个文件 a.txt"}


def test_a_session_is_resumed_by_its_id(user_data: Path, repo: Path) -> None:
    with ChatServer([*LISTING, reply_text("Yes.")]) as server:
        chat_settings(user_data, server.url)
        _, lines, _ = tricode(user_data, repo, "--stdio", "list files")
        name = lines[0]["message"].removeprefix("Session ID: ")
        code, again, _ = tricode(user_data, repo, "--stdio", "-r", name, "sure?")
        messages = server.received[2].json["messages"]
    assert code == 0
    assert again[0] == {"type": "system", "message": f"Resumed session {name}"}
    assert again[-1]["content"] == "Yes."
    assert [message["content"] for message in messages if message["role"] == "user"] == [
        "list files", "sure?",
    ]  # fmt: skip


def test_a_whitelist_hides_all_other_tools_and_always_has_the_plan(
    user_data: Path, repo: Path
) -> None:
    refusal = "无法完成, 缺少执行 shell 命令的工具。"
    with ChatServer(
        [reply_calls(("run_command", {"command": "id"})), reply_text(refusal)]
    ) as server:
        chat_settings(user_data, server.url)
        code, lines, _ = tricode(
            user_data, repo, "--stdio", "--tools", "read_file, search_context,fly", "run the tests"
        )
        first = server.received[0].json
    assert code == 0
    assert [tool["function"]["name"] for tool in first["tools"]] == [
        "plan", "read_file", "search_context",
    ]  # fmt: skip
    whole = json.dumps(first)
    for hidden in ("create_file", "edit_file", "run_command", "start_session", "list_directory"):
        assert hidden not in whole
    assert "run shell commands" in first["messages"][0]["content"]
    assert lines[1] == {"type": "system", "message": "Unknown tools left out: fly"}
    [result] = of_type(lines, "tool_result")
    assert result["success"] is False
    assert lines[-1] == {"type": "final", "content": refusal}


def test_the_editing_tools_of_document_000_can_be_chosen(user_data: Path, repo: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": "1"}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (repo / "n.ipynb").write_text(json.dumps(notebook))
    edits = [{"old_string": "two", "new_string": "2"}, {"old_string": "2", "new_string": "zwei"}]
    calls = (
        ("Replace", {"file_path": "a.txt", "content": "one\ntwo\n"}),
        ("Edit", {"file_path": "a.txt", "old_string": "one", "new_string": "1"}),
        ("MultiEdit", {"file_path": "a.txt", "edits": edits}),
        ("NotebookEditCell", {"notebook_path": "n.ipynb", "cell_number": 0, "new_source": "2"}),
    )
    names = [name for name, _ in calls]
    with ChatServer(
        [reply_calls(SKIP, *calls), reply_text("Done."), reply_text("Usual.")]
    ) as server:
        chat_settings(user_data, server.url)
        code, lines, _ = tricode(user_data, repo, "--stdio", "--tools", ",".join(names), "edit")
        tricode(user_data, repo, "--stdio", "edit")
        first, usual = server.received[0].json, server.received[-1].json
    assert code == 0
    assert [tool["function"]["name"] for tool in first["tools"]] == ["plan", *names]
    assert "read files" in first["messages"][0]["content"]
    assert "change files" not in first["messages"][0]["content"]
    assert "edit_file" not in json.dumps(first)
    assert all(line["success"] for line in of_type(lines, "tool_result"))
    assert (repo / "a.txt").read_text() == "1\nzwei\n"
    assert json.loads((repo / "n.ipynb").read_text())["cells"][0]["source"] == "2"
    usual_names = {tool["function"]["name"] for tool in usual["tools"]}
    assert "edit_file" in usual_names, "two sets of tools that edit files confuse a model"
    assert not usual_names & set(names)


@pytest.mark.slow
def test_a_session_is_resumed_only_in_its_own_folder(user_data: Path, repo: Path) -> None:
    with ChatServer([reply_text("Yes.")]) as server:
        chat_settings(user_data, server.url)
        _, lines, _ = tricode(user_data, repo, "--stdio", "go")
        name = lines[0]["message"].removeprefix("Session ID: ")
        code, [line], _ = tricode(user_data, repo.parent, "--stdio", "-r", name, "go on")
        assert (code, line["type"]) == (1, "error")
        assert str(repo.resolve()) in line["message"]
        code, _, _ = tricode(
            user_data, repo.parent, "--stdio", "-r", name, "--root", str(repo), "go on"
        )
    assert code == 0


@pytest.mark.slow
def test_a_killed_agent_can_be_resumed(user_data: Path, repo: Path) -> None:
    begun = threading.Event()
    script: list[list[Step]] = [
        reply_calls(SKIP),
        [delta("I"), SetEvent(begun), WaitForDisconnect()],
        reply_text("Done."),
    ]
    with ChatServer(script) as server:
        chat_settings(user_data, server.url)
        with subprocess.Popen(
            [*CODEKERNEL, "agent", "--stdio", "go"],
            stdout=subprocess.PIPE,
            env=bare_environment(user_data),
            cwd=repo,
        ) as process:
            assert begun.wait(TIMEOUT_SECONDS)
            process.kill()
            said_lines, _ = process.communicate(timeout=TIMEOUT_SECONDS)
        name = json.loads(said_lines.splitlines()[0])["message"].removeprefix("Session ID: ")
        code, lines, _ = tricode(user_data, repo, "--stdio", "-r", name, "go on")
    assert code == 0
    assert lines[-1] == {"type": "final", "content": "Done."}


def wait_for_index(user_data: Path, repo: Path) -> None:
    subprocess.run(
        [*CODEKERNEL, "search", "--wait", "session"],
        cwd=repo,
        env=bare_environment(user_data),
        capture_output=True,
        check=True,
    )


@pytest.mark.slow
def test_our_ranked_search_is_one_of_the_tools(user_data: Path, repo: Path) -> None:
    write_sources(repo)
    calls = reply_calls(SKIP, ("search", {"query": "close a session", "limit": 3}))
    with ChatServer([calls, reply_text("Found.")]) as server:
        chat_settings(user_data, server.url, vectors=True)
        wait_for_index(user_data, repo)  # the tool itself waits five seconds for a first one
        code, lines, _ = tricode(user_data, repo, "--stdio", "where is it?")
    assert code == 0
    result = of_type(lines, "tool_result")[1]
    assert result["success"], result
    assert "session.py:" in result["result"]
    assert "def close(self)" in result["result"]
    assert re.fullmatch(r"\[OK\] [1-3] results", result["formatted"])


@pytest.mark.slow
def test_call_chains_are_one_of_the_tools(user_data: Path, repo: Path) -> None:
    (repo / "house.py").write_text("def knock():\n    enter()\n\n\ndef enter():\n    pass\n")
    calls = reply_calls(SKIP, ("call_chain", {"method": "enter", "direction": "callers"}))
    with ChatServer([calls, reply_text("Found.")]) as server:
        chat_settings(user_data, server.url)
        code, lines, _ = tricode(user_data, repo, "--stdio", "who enters?")
    assert code == 0
    result = of_type(lines, "tool_result")[1]
    assert result["success"], result
    assert "knock" in result["result"]


def test_a_program_that_listens_no_more_ends_the_agent_quietly(user_data: Path, repo: Path) -> None:
    with ChatServer(LISTING) as server:
        chat_settings(user_data, server.url)
        _, complaints = run_with_closed_stdout(user_data, "agent", "--stdio", "go", cwd=repo)
    assert complaints == ""


@pytest.mark.slow
def test_what_deletes_and_runs_must_be_allowed(user_data: Path, repo: Path) -> None:
    (repo / "a").write_text("x")
    calls = reply_calls(
        SKIP, ("delete_file", {"path": "a"}), ("run_command", {"command": "echo hi"})
    )
    with ChatServer([calls, reply_text("ok"), calls, reply_text("ok")]) as server:
        chat_settings(user_data, server.url)
        _, refused_lines, _ = tricode(user_data, repo, "--stdio", "go")
        assert (repo / "a").exists()
        allowed = ("--allow", "deletes", "--allow", "runs")
        _, lines, _ = tricode(user_data, repo, "--stdio", *allowed, "go")
    assert [each["success"] for each in of_type(refused_lines, "tool_result")] == [
        True, False, False,
    ]  # fmt: skip
    assert [each["success"] for each in of_type(lines, "tool_result")] == [True, True, True]
    assert of_type(lines, "tool_call")[2]["formatted"] == "RUN(echo hi)"
    assert not (repo / "a").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said_of_it"),
    [
        (("--stdio", "-r", "12345678", "go"), "There is no session 12345678"),
        (("--stdio", "-r", "../x", "go"), "is no session id"),
        (("--stdio", "--model", "none", "go"), "Model not found"),
        (("--stdio", "--root", "none", "go"), "none is no folder"),
        (("--stdio", " "), "prompt is empty"),
        (("--stdio",), "PROMPT"),
        (("--stdio", "--rounds", "many", "go"), "whole number"),
        (("--stdio", "--sing", "go"), "--sing"),
    ],
)
def test_what_cannot_begin_is_an_error_line(
    user_data: Path, repo: Path, words: tuple[str, ...], said_of_it: str
) -> None:
    chat_settings(user_data, "http://127.0.0.1:9/v1")
    code, lines, _ = tricode(user_data, repo, *words)
    assert code != 0
    [line] = lines
    assert line["type"] == "error"
    assert said_of_it in line["message"]


def test_an_endpoint_that_refuses_is_an_error_line(user_data: Path, repo: Path) -> None:
    with ChatServer([reply_error(401, "bad key")]) as server:
        chat_settings(user_data, server.url)
        code, lines, _ = tricode(user_data, repo, "--stdio", "go")
    assert code == 1
    assert [line["type"] for line in lines] == ["system", "round", "error"]


@pytest.mark.slow
def test_nothing_set_up_is_an_error_line(user_data: Path, repo: Path) -> None:
    code, lines, _ = tricode(user_data, repo, "--stdio", "go")
    assert (code, [line["type"] for line in lines]) == (1, ["error"])
    assert "no chat model is set up" in lines[0]["message"]


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_signal_stops_it_with_an_error_line(user_data: Path, repo: Path) -> None:
    begun = threading.Event()
    with ChatServer([[delta("I"), SetEvent(begun), WaitForDisconnect()]]) as server:
        chat_settings(user_data, server.url)
        with subprocess.Popen(
            [*CODEKERNEL, "agent", "--stdio", "go"],
            stdout=subprocess.PIPE,
            env=bare_environment(user_data),
            cwd=repo,
        ) as process:
            assert begun.wait(TIMEOUT_SECONDS)
            process.send_signal(signal.SIGTERM)
            said_lines, _ = process.communicate(timeout=TIMEOUT_SECONDS)
        assert server.received[0].hung_up.wait(TIMEOUT_SECONDS)
    assert process.returncode == 130
    assert json.loads(said_lines.splitlines()[-1]) == {
        "type": "error", "message": "The agent was stopped.",
    }  # fmt: skip


def tricode_at(folder: Path, user_data: Path) -> dict[str, str]:
    """``tricode.py`` and ``python`` in a folder, as the document's clients start them."""
    shim = (
        "import sys\nfrom codekernel.cli.main import main\nsys.exit(main(['agent', "
        "*sys.argv[1:]]))\n"
    )
    (folder / "tricode.py").write_text(shim)
    programs = folder.parent / "programs"
    programs.mkdir()
    python = programs / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return {
        **bare_environment(user_data),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONUTF8": "1",
    }


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a script called python")
@pytest.mark.parametrize(
    ("program", "client", "printed"),
    [
        (sys.executable, "document_001_client.py.txt", "[Tool] {0}\n[Tool] {1}\n[Result] {2}\n"),
        (
            "node",
            "document_001_client.js.txt",
            "[Tool] {0}\n[Tool] {1}\n[Result] {2}\nDone: {2}\n",
        ),
    ],
)
def test_the_clients_of_the_document_run_unchanged(
    user_data: Path, repo: Path, program: str, client: str, printed: str
) -> None:
    if not shutil.which(program):
        pytest.skip(f"no {program} on this machine")
    environ = tricode_at(repo, user_data)
    script = repo.parent / client.removesuffix(".txt")
    shutil.copy(FIXTURES / client, script)
    with ChatServer(LISTING) as server:
        chat_settings(user_data, server.url)
        done = subprocess.run(
            [program, str(script)],
            capture_output=True,
            env=environ,
            cwd=repo,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        assert (
            server.received[0].json["messages"][1]["content"] == "list files in current directory"
        )
    assert done.returncode == 0, done.stderr.decode()
    expected = printed.format("PLAN SKIP", 'LIST(".")', "有一个文件 a.txt")
    assert done.stdout.decode("utf-8") == expected


def test_without_stdio_a_person_sees_words_and_what_is_done(user_data: Path, repo: Path) -> None:
    with ChatServer(LISTING) as server:
        chat_settings(user_data, server.url)
        done = subprocess.run(
            [*CODEKERNEL, "agent", "list", "files"],
            capture_output=True,
            env=bare_environment(user_data),
            cwd=repo,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    assert done.returncode == 0
    assert done.stdout.decode("utf-8") == "有一个文件 a.txt\n"
    session, *rest = done.stderr.decode("utf-8").splitlines()
    assert re.fullmatch(r"codekernel: session [0-9a-f]{8}", session)
    assert rest == ["PLAN SKIP", "  Planning skipped.", 'LIST(".")', "  [OK] 1 items"]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals")
@pytest.mark.parametrize(("typed", "made"), [("y\n", True), ("n\n", False)])
def test_in_a_terminal_the_person_is_asked_before_a_command_runs(
    user_data: Path,
    repo: Path,
    typed: str,
    made: bool,  # noqa: FBT001 - a table
) -> None:
    script = [reply_calls(SKIP, ("run_command", {"command": "echo > made"})), reply_text("Done.")]
    with ChatServer(script) as server:
        chat_settings(user_data, server.url)
        with Terminal(user_data, repo, "agent", "go", PATH=os.environ["PATH"]) as terminal:
            terminal.read_until(lambda shown: "[y/N]" in shown)
            assert "run_command runs" in terminal.shown
            terminal.type(typed)
            code, shown = terminal.finish()
    assert code == 0
    assert "Done." in shown
    assert (repo / "made").exists() is made


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals")
def test_ctrl_c_instead_of_an_answer_stops_the_agent(user_data: Path, repo: Path) -> None:
    script = [reply_calls(SKIP, ("run_command", {"command": "echo > made"})), reply_text("Done.")]
    with ChatServer(script) as server:
        chat_settings(user_data, server.url)
        with Terminal(user_data, repo, "agent", "go", PATH=os.environ["PATH"]) as terminal:
            terminal.read_until(lambda shown: "[y/N]" in shown)
            terminal.process.send_signal(signal.SIGINT)
            code, shown = terminal.finish()
    assert code == 130
    assert "The agent was stopped." in shown
    assert not (repo / "made").exists()
