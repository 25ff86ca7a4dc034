"""``codekernel web`` beside a shared kernel."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adapters.web.browsing import Tab, WebProcess
from support.chat_server import ChatServer, reply_text
from support.conversation_client import chat_settings
from support.shared_kernel import ENVIRON, SharedKernel, block_endpoint

PATIENCE_SECONDS = 60


def browse(shared: SharedKernel, repo: Path, *words: str) -> WebProcess:
    return WebProcess(shared.user_data, repo, "--no-browser", *words, environ=ENVIRON)


def find_first(tab: Tab) -> str:
    results = tab.call("search", query="close the session")["results"]
    return str(results[0]["filePath"])


def test_pages_and_a_front_end_share_the_kernel(shared: SharedKernel, repo: Path) -> None:
    with browse(shared, repo) as web, web.browser().tab() as tab:
        tab.open("demo")
        tab.index("session.py", "routing.py")
        assert find_first(tab) == "session.py"
        with shared.attach() as front_end:
            assert front_end.request("getRepos")["data"]["repoList"][0]["path"] == str(repo)
            clients = {each["name"]: each for each in shared.status()["clients"]}
            assert clients["web"]["pid"] == web.process.pid
            web.signal(signal.SIGINT)
            code, words = web.finish()
            assert (code, words.endswith("codekernel: stopped\n")) == (0, True)
            assert {each["name"] for each in shared.status()["clients"]} == {"serve", "test"}


def test_pages_go_on_when_the_kernel_is_killed(shared: SharedKernel, repo: Path) -> None:
    with browse(shared, repo) as web, (browser := web.browser()).tab() as tab:
        tab.open("demo")
        tab.index("session.py", "routing.py")
        for _ in range(3):
            pid = shared.status()["pid"]
            os.kill(pid, signal.SIGKILL)
            assert find_first(tab) == "session.py"
            assert shared.status()["pid"] != pid
        with browser.tab() as other:
            other.open("demo")
            assert find_first(other) == "session.py"
        web.signal(signal.SIGTERM)
        assert web.finish()[0] == 0


def test_an_answer_that_streams_to_a_page_ends_with_its_reason(
    shared: SharedKernel, repo: Path
) -> None:
    may_go_on = threading.Event()

    def answer_slowly(_: object) -> Iterator[Any]:
        yield from reply_text("First piece. ")[:-1]
        may_go_on.wait(PATIENCE_SECONDS)

    with ChatServer([answer_slowly, lambda _: reply_text("The rest.")]) as server:
        chat_settings(shared.user_data, server.url)
        with browse(shared, repo) as web, web.browser().tab() as tab:
            tab.open("demo")
            tab.index("session.py", "routing.py")
            tab.converse(1, "How does a session close?")
            tab.read_on(1, lambda part: part["type"] == "answer")
            shared.kill()
            tab.send({"read": 1})
            end = tab.read_on(1, lambda _: False)
            may_go_on.set()
            assert "ended unexpectedly" in end["failure"]["message"]
            assert end["failure"]["done"]["type"] == "done"
            tab.converse(2, "And then?")
            assert "failure" not in tab.read_on(2, lambda _: False)


def test_it_says_once_when_the_index_is_complete(shared: SharedKernel, repo: Path) -> None:
    with browse(shared, repo) as web:
        web.expect_words("demo is indexed: 2 files, 2 chunks")
        shared.kill()
        with web.browser().tab() as tab:
            tab.open("demo")
            assert find_first(tab) == "session.py"
        web.signal(signal.SIGINT)
        assert web.finish()[1].count("is indexed") == 1


def test_the_port_is_kept_unless_it_is_taken(shared: SharedKernel, repo: Path) -> None:
    with browse(shared, repo) as web, browse(shared, repo) as beside:
        first, second = web.port, beside.port
    with browse(shared, repo) as web, browse(shared, repo) as beside:
        assert (web.port, beside.port) == (first, second)
    with (
        socket.create_server(("127.0.0.1", first)),
        socket.create_server(("127.0.0.1", second)),
        browse(shared, repo) as web,
    ):
        assert web.port not in {first, second}
    (shared.user_data / "browser" / "ports").write_bytes(b"\xff 70000 x")
    with browse(shared, repo) as web:
        assert web.port


def test_standalone_pages_have_a_kernel_of_their_own(shared: SharedKernel, repo: Path) -> None:
    with browse(shared, repo, "--standalone") as web, web.browser().tab() as tab:
        tab.open("demo")
        assert not (shared.user_data / "run" / "kernel.sock").exists()


def test_without_an_endpoint_pages_have_a_kernel_of_their_own(
    shared: SharedKernel, repo: Path, tmp_path: Path
) -> None:
    environ = {**ENVIRON, **block_endpoint(shared.user_data, tmp_path)}
    with (
        WebProcess(shared.user_data, repo, "--no-browser", environ=environ) as web,
        web.browser().tab() as tab,
    ):
        tab.open("demo")
        web.expect_words("the browser has a kernel of its own")
