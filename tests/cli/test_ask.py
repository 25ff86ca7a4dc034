"""``codekernel ask`` in real folders, with a scripted chat model on loopback."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from codekernel.cli.commands.ask import format_round, format_sources, format_usage
from codekernel.cli.output.terminal import TerminalStyle
from codekernel.domain.settings import Price
from codekernel.domain.turn import Citation, CitationState, TokenUsage, TurnOutcome
from codekernel.domain.turn_events import TurnDone
from support.chat_server import (
    ChatServer,
    WaitForDisconnect,
    WaitForEvent,
    delta,
    reply_calls,
    reply_error,
    reply_text,
)
from support.command_line import (
    CODEKERNEL,
    TIMEOUT_SECONDS,
    Terminal,
    codekernel,
    run_with_closed_stdout,
)
from support.conversation_client import ENVIRON, chat_settings, write_sources
from support.kernel_process import KernelProcess, bare_environment, code_of

QUESTION = "How does a Session end?"
PRICES = {"inputPrice": 2.0, "outputPrice": 10.0}
CLOSED = reply_text("It is closed in `session.py:4-6`,", " you see.", used=(1000, 200))


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer([CLOSED]) as running:
        yield running


@pytest.fixture
def project(server: ChatServer, user_data: Path, repo: Path) -> Path:
    write_sources(repo)
    (repo / ".git").mkdir()
    chat_settings(user_data, server.url, model=PRICES)
    return repo


def histories(user_data: Path) -> list[Any]:
    found = (user_data / "conversations").glob("conversation-*.json")
    return [json.loads(path.read_bytes()) for path in found]


@pytest.mark.slow
def test_a_question_is_answered_in_any_folder_with_sources_and_what_it_cost(
    user_data: Path, project: Path, server: ChatServer
) -> None:
    chat_settings(user_data, server.url, vectors=True, model=PRICES)
    done = codekernel(user_data, project, "ask", *QUESTION.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "It is closed in `session.py:4-6`, you see.\n\n"
        "Sources:\n\n- session.py:4 verified, lines 4-6\n"
    )
    searched, cost = done.stderr.splitlines()
    assert f'"{QUESTION}": 2 places in ' in searched
    assert cost == "codekernel: 1000 tokens read, 200 written, cost 0.0040"
    assert b"def close(self)" in server.received[0].body
    (history,) = histories(user_data)
    assert [turn["answer"] for turn in history["history"]] == [
        "It is closed in `session.py:4-6`, you see."
    ]
    assert sorted(path.name for path in project.iterdir()) == [".git", "routing.py", "session.py"]


@pytest.mark.slow
def test_a_conversation_goes_on_where_that_is_wanted(
    user_data: Path, project: Path, server: ChatServer
) -> None:
    new = codekernel(user_data, project, "ask", "--continue", "one?")
    assert "no conversation about" in new.stderr
    again = codekernel(user_data, project, "ask", "--continue", "two?")
    assert "no conversation about" not in again.stderr
    codekernel(user_data, project, "ask", "three?")
    queries = [[turn["query"] for turn in history["history"]] for history in histories(user_data)]
    assert sorted(queries) == [["one?", "two?"], ["three?"]]
    messages = server.received[1].json["messages"]
    assert messages[1]["content"] == "one?"


@pytest.mark.slow
def test_json_is_a_line_for_each_event(user_data: Path, project: Path, server: ChatServer) -> None:
    server._script[:0] = [
        reply_calls(("search", {"queries": ["add_route"], "purpose": "Routes?"}), used=(500, 0))
    ]
    done = codekernel(user_data, project, "ask", "--json", QUESTION)
    assert (done.returncode, done.stderr) == (0, "")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [event["type"] for event in events]
    assert kinds[:3] == ["begin", "annotation", "search"]
    assert kinds.count("doneRetrieval") == 2
    assert kinds[-3:] == ["answer", "answer", "done"]
    (number,) = (history["conversationId"] for history in histories(user_data))
    assert events[0] == {
        "type": "begin", "conversationId": number, "modelName": "model", "repo": str(project),
    }  # fmt: skip
    assert number > 1_600_000_000_000
    assert events[-1]["citations"][0]["state"] == "verified"
    assert events[-1]["cost"] == pytest.approx(0.005)
    server._script[:] = [reply_error(404, "no such model")]
    failed = codekernel(user_data, project, "ask", "--json", QUESTION)
    assert (failed.returncode, failed.stderr) == (2, "")
    error, end = map(json.loads, failed.stdout.splitlines()[-2:])
    assert (error["type"], error["code"]) == ("error", "NETWORK_ERROR")
    assert end["outcome"] == "failed"


@pytest.mark.slow
def test_what_cannot_be_asked_is_refused_with_what_to_do(
    user_data: Path, project: Path, server: ChatServer
) -> None:
    def refusal(*words: str) -> str:
        done = codekernel(user_data, project, "ask", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert "Traceback" not in done.stderr
        return done.stderr

    assert "QUESTION" in refusal()
    assert "the question is empty" in refusal(" ")
    assert "nowhere" in refusal("--repo", "nowhere", "why?")
    unknown = refusal("--model", "nobody", "why?")
    assert '"nobody"' in unknown
    assert '"model"' in unknown
    chat_settings(user_data, server.url, model={"setApiKey": True})
    assert "codekernel key set model" in refusal("why?")
    chat_settings(user_data, server.url, generationModel=[])
    assert "codekernel models add" in refusal("why?")
    (user_data / "settings.json").unlink()
    message = refusal("why?")
    assert "codekernel models add" in message
    assert "OPENAI_API_KEY" in message
    assert "{" not in message
    assert not list(user_data.glob("[!s]*"))


@pytest.mark.slow
def test_a_key_is_stored_without_standing_in_a_command_and_is_used(
    user_data: Path, project: Path, server: ChatServer
) -> None:
    chat_settings(user_data, server.url, model={"setApiKey": True})

    def key(*words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*CODEKERNEL, "key", *words],
            input=typed,
            capture_output=True,
            text=True,
            env={**bare_environment(user_data), **ENVIRON},
            cwd=project,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    assert key("list").stdout == "model  no key: codekernel key set model\n"
    assert list(user_data.iterdir()) == [user_data / "settings.json"]
    for typed in ("", " \n", "two words\n", "\x1b[A\n", "x" * 20_000):
        refused_key = key("set", "model", typed=typed)
        assert refused_key.returncode == 2
        assert "nothing was stored" in refused_key.stderr
    stored = key("set", "model", typed="sk-invented\n")
    assert (stored.returncode, stored.stdout, stored.stderr) == (0, "", "")
    assert key("list").stdout == "model  has a key\n"
    assert (
        "no chat model or remote model is called 'modle'"
        in key("set", "modle", typed="sk-x\n").stderr
    )
    done = codekernel(user_data, project, "ask", QUESTION, **ENVIRON)
    assert done.returncode == 0
    assert server.received[0].headers["Authorization"] == "Bearer sk-invented"
    assert (key("remove", "model").returncode, key("remove", "model").returncode) == (0, 2)
    assert "key set model" in codekernel(user_data, project, "ask", QUESTION, **ENVIRON).stderr


@pytest.mark.slow
def test_a_registered_repository_is_charged_and_its_index_shared(
    user_data: Path, project: Path, server: ChatServer
) -> None:
    with KernelProcess(user_data, environ=ENVIRON) as kernel:
        kernel.open(project, session=1)
        meanwhile = codekernel(user_data, project, "ask", QUESTION, **ENVIRON)
        assert meanwhile.returncode == 0
        assert "another codekernel keeps this index" in meanwhile.stderr
        (usage,) = kernel.request("getApiUsage", session=1)["data"]["apiUsage"]
        assert (usage["input_token"], usage["output_token"]) == (1000, 200)
        assert code_of(kernel.request("getRepos")) == "SUCCESS"
        assert kernel.stop() == 0
    after = codekernel(user_data, project, "ask", QUESTION, **ENVIRON)
    assert after.returncode == 0
    assert [path.name for path in (user_data / "index").iterdir()] == ["1"]


@pytest.mark.slow
def test_secrets_that_were_kept_back_are_counted(
    user_data: Path, project: Path, server: ChatServer
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    (project / "deploy.py").write_text(f'GITHUB = "{secret}"  # deployment\n', encoding="utf-8")
    done = codekernel(user_data, project, "ask", "GITHUB deployment")
    assert secret.encode() not in server.received[0].body
    assert "codekernel: 1 secret masked before anything was sent\n" in done.stderr


@pytest.mark.slow
def test_a_failure_keeps_what_was_shown_and_says_why(
    user_data: Path, project: Path, server: ChatServer
) -> None:
    server._script[:] = [[delta("Half"), WaitForDisconnect()]]
    chat_settings(user_data, "http://127.0.0.1:9/v1")
    done = codekernel(user_data, project, "ask", QUESTION)
    assert (done.returncode, done.stdout) == (2, "")
    assert "127.0.0.1:9" in done.stderr
    (history,) = histories(user_data)
    assert history["history"][0]["outcome"] == "failed"


@pytest.mark.slow
def test_an_answer_whose_reader_is_gone_is_stopped_and_kept(
    user_data: Path, project: Path, server: ChatServer
) -> None:
    server._script[:] = [[delta("Half\n"), *[delta("more\n")] * 50, WaitForDisconnect()]]
    code, complaints = run_with_closed_stdout(user_data, "ask", QUESTION, cwd=project)
    assert code == 0
    assert "Traceback" not in complaints
    (history,) = histories(user_data)
    assert history["history"][0]["outcome"] == "stopped"


needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")


@needs_terminal
@pytest.mark.slow
def test_a_terminal_gets_the_answer_in_colours_while_it_arrives(
    user_data: Path, project: Path, server: ChatServer
) -> None:
    go_on = threading.Event()
    server._script[:] = [
        [delta("# It\n\nIt is "), delta("**closed** in "), WaitForEvent(go_on), *CLOSED]
    ]
    with Terminal(user_data, project, "ask", QUESTION, TERM="xterm-kitty") as terminal:
        shown = terminal.read_until(lambda text: "closed" in text)
        assert "\x1b[1;36mIt\x1b[0m\r\n\r\nIt is \x1b[1mclosed\x1b[0m" in shown
        go_on.set()
        code, text = terminal.finish()
    assert code == 0
    assert "\x1b[2mLooking for what the question names" in text
    link = f"\x1b]8;;{(project / 'session.py').as_uri()}\x1b\\"
    assert f"{link}\x1b[35msession.py\x1b[0m:\x1b[32m4\x1b[0m" in text
    assert "\x1b[32mverified\x1b[0m, lines 4-6" in text
    with Terminal(user_data, project, "ask", QUESTION, NO_COLOR="1") as terminal:
        code, text = terminal.finish()
    plain = text.rpartition("\x1b[K")[2]
    assert "`session.py:4-6`, you see.\r\n" in plain
    assert "\x1b" not in plain


@needs_terminal
@pytest.mark.slow
def test_ctrl_c_stops_the_answer_keeps_it_and_hangs_up(
    user_data: Path, project: Path, server: ChatServer
) -> None:
    server._script[:] = [[delta("Half an answer. And"), WaitForDisconnect()]]
    with Terminal(user_data, project, "ask", QUESTION) as terminal:
        terminal.read_until(lambda text: "Half an answer." in text)
        terminal.process.send_signal(signal.SIGINT)
        code, text = terminal.finish()
    assert code == 130
    assert "Traceback" not in text
    assert "Half an answer. And\r\n" in text
    assert server.received[0].hung_up.wait(TIMEOUT_SECONDS)
    (history,) = histories(user_data)
    turn = history["history"][0]
    assert (turn["answer"], turn["outcome"]) == ("Half an answer. And", "stopped")
    assert not list((user_data / "conversations" / "unfinished").glob("*.jsonl"))


@needs_terminal
@pytest.mark.slow
def test_what_was_shown_before_a_kill_is_there_when_the_conversation_goes_on(
    user_data: Path, project: Path, server: ChatServer
) -> None:
    server._script[:] = [[delta("Half an answer. And"), WaitForDisconnect()], CLOSED]
    with Terminal(user_data, project, "ask", "one?") as terminal:
        terminal.read_until(lambda text: "Half an answer." in text)
        terminal.process.kill()
        terminal.finish()
    assert codekernel(user_data, project, "ask", "--continue", "two?").returncode == 0
    (history,) = histories(user_data)
    assert [(turn["query"], turn["outcome"]) for turn in history["history"]] == [
        ("one?", "interrupted"),
        ("two?", "done"),
    ]
    assert history["history"][0]["answer"] == "Half an answer. And"


CITED = (
    Citation("a.py:4-6", "a.py", 4, 6, CitationState.VERIFIED),
    Citation("deep/b.py:7", "deep/b.py", 7, 7, CitationState.MOVED, now_begin=17, now_end=17),
    Citation("c.py:1-2", "c.py", 1, 2, CitationState.STALE, "the lines have changed since"),
    Citation("a.py:4-6", "a.py", 4, 6, CitationState.VERIFIED),
)


def test_each_source_is_named_once_with_the_line_to_open_and_its_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(format_sources(CITED, tmp_path, TerminalStyle())) == [
        "Sources:\n",
        "- a.py:4 verified, lines 4-6",
        f"- {Path('deep/b.py')}:17 moved, cited as line 7",
        "- c.py:1 stale, lines 1-2: the lines have changed since",
    ]
    assert list(format_sources((), tmp_path, TerminalStyle())) == []
    _, first, moved, stale = format_sources(
        CITED, tmp_path, TerminalStyle(has_colors=True, has_links=True)
    )
    assert (tmp_path / "a.py").as_uri() in first
    assert "\x1b[32mverified\x1b[0m, lines 4-6" in first
    assert "\x1b[33mmoved\x1b[0m, cited as line 7" in moved
    assert "\x1b[31mstale\x1b[0m, lines 1-2" in stale


def test_a_source_cannot_give_orders_to_the_terminal(tmp_path: Path) -> None:
    evil = Citation("x", "\x1b[2J.py", 1, 1, CitationState.STALE, "\x1b[31m")
    assert "\x1b" not in "".join(format_sources([evil], tmp_path, TerminalStyle()))


def test_a_round_is_a_line() -> None:
    assert format_round("Who?", ["a", "b\nc"], ["x.py", "x.py", "y.py"]) == (
        'Who?: "a", "b c": 3 places in x.py, y.py'
    )
    many = format_round("Who?", ["w " * 100], [f"{n}.py" for n in range(9)])
    assert many.endswith('w...": 9 places in 0.py, 1.py, 2.py and 6 more')
    assert format_round("Who?", ["a"], []) == 'Who?: "a": nothing new'


def test_the_bill_says_what_was_kept_back_read_written_and_paid() -> None:
    spent = TokenUsage(1_000_000, 500)
    assert list(
        format_usage(TurnDone(TurnOutcome.DONE, masked=2, spent=spent), Price(0.25, 2.0))
    ) == [
        "2 secrets masked before anything was sent",
        "1000000 tokens read, 500 written, cost 0.2510",
    ]
    guessed = TurnDone(TurnOutcome.STOPPED, spent=TokenUsage(10, 1, exact=False))
    assert list(format_usage(guessed, None)) == ["about 10 tokens read, 1 written"]
    assert list(format_usage(TurnDone(TurnOutcome.FAILED), None)) == []
