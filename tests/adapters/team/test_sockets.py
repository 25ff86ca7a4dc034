"""The kernel's own protocol over a WebSocket: what each person gets, and what nobody learns."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.team.tokens import TokenFile
from support.command_line import codekernel
from support.team_server import TeamServer, TeamSocket, run_team_server
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

pytestmark = pytest.mark.slow

CLIENTS, QUESTIONS = 50, 4
SECRET = "swordfish"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TeamServer]:
    place = tmp_path_factory.mktemp("team")
    for folder in ("app/src", "app/vault"):
        (place / folder).mkdir(parents=True)
    (place / "app/src/session.py").write_text(
        "def close_session(user):\n    user.leave()\n", "utf-8"
    )
    (place / "app/vault/launch.py").write_text(f"word = '{SECRET}'\n", "utf-8")
    for number in range(CLIENTS):
        text = f"def handle_{number}(request):\n    return only_word_{number}\n"
        (place / f"app/src/part{number}.py").write_text(text, "utf-8")
    rights: dict[str, Any] = {
        "repositories": {"app": str(place / "app")},
        "users": {
            "ann": {"app": ["**"]},
            "bob": {"app": ["**", "!vault/"]},
            "eve": {},
            **{f"user{number}": {"app": [f"src/part{number}.py"]} for number in range(CLIENTS)},
        },
        "requestsPerMinute": 100_000,
    }
    with run_team_server(place / "userData", rights) as running:
        running.make_client("ann").wait_until_indexed(CLIENTS + 2)
        yield running


@contextmanager
def open_socket(server: TeamServer, user: str, token: str = "") -> Iterator[TeamSocket]:
    with server.open_socket(user, token) as socket:
        assert socket.receive()["message"] == {"type": "ready"}
        yield socket


@pytest.fixture
def ann(server: TeamServer) -> Iterator[TeamSocket]:
    with open_socket(server, "ann") as socket:
        socket.open_app()
        yield socket


@pytest.fixture
def bob(server: TeamServer) -> Iterator[TeamSocket]:
    with open_socket(server, "bob") as socket:
        socket.open_app()
        yield socket


def list_paths(reply: dict[str, Any]) -> list[str]:
    return [each["filePath"] for each in reply["data"]["results"]]


def test_a_window_searches_and_reads_as_with_a_kernel_of_its_own(ann: TeamSocket) -> None:
    found = ann.ask("search", query="close the session")
    assert list_paths(found)[0] == "src/session.py"
    assert found["data"]["results"][0]["highlightedContent"].startswith("def ")
    read = ann.ask("readLines", filePath="src/session.py", beginLine=1, endLine=9)["data"]
    assert (read["content"], read["endLine"]) == ("    user.leave()\n", 2)
    nothing = ann.ask("readLines", filePath="src/session.py", beginLine=0, endLine=0)["data"]
    assert (nothing["content"], nothing["lineCount"]) == ("", 2)


def test_the_list_of_repositories_says_no_place_on_the_machine(
    server: TeamServer, ann: TeamSocket
) -> None:
    listed = ann.ask_main("getRepos")
    assert listed["data"] == {"repoList": [{"name": "app", "path": ""}]}
    with open_socket(server, "eve") as eve:
        assert eve.ask_main("getRepos")["data"] == {"repoList": []}
        opened = eve.ask_main("openRepo", repoName="app", sessionId=1)
        unknown = eve.ask_main("openRepo", repoName="nowhere", sessionId=1)
    assert opened["status"] == unknown["status"]
    assert opened["status"]["code"] == "REPO_NOT_FOUND"


@pytest.mark.parametrize("query", [SECRET, "launch", f'"{SECRET}"', "path:vault launch"])
def test_who_may_not_read_a_path_hears_nothing_of_it(bob: TeamSocket, query: str) -> None:
    said = json.dumps(bob.ask("search", query=query)).replace(json.dumps(query)[1:-1], "")
    assert SECRET not in said
    assert "launch.py" not in said
    there = bob.ask("readLines", filePath="vault/launch.py", beginLine=0, endLine=1)
    missing = bob.ask("readLines", filePath="vault/nothing.py", beginLine=0, endLine=1)
    assert there["status"]["code"] == missing["status"]["code"] == "INVALID_PATH"


def test_what_is_not_offered_or_malformed_is_answered_as_the_protocol_says(
    ann: TeamSocket,
) -> None:
    assert ann.ask("beginAgentTurn", prompt="x")["status"]["code"] == "INVALID_TYPE"
    assert ann.ask("search", query=3)["status"]["code"] == "WRONG_PARAM"
    assert ann.ask("search", query="x", facets=True)["status"]["code"] == "WRONG_PARAM"
    ann.socket.send("garbage")
    assert ann.receive()["status"]["code"] == "WRONG_PARAM"
    ann.socket.send(b" " * 300_000)
    assert ann.receive()["status"]["code"] == "WRONG_PARAM"
    assert ann.ask("search", query="x", session=2)["status"]["code"] == "SESSION_NOT_FOUND"
    again = ann.ask_main("openRepo", repoName="app", sessionId=1)
    assert again["status"]["code"] == "SESSION_EXISTS"
    assert ann.ask_main("closeRepo", sessionId=1)["message"]["windowId"] == 1
    assert ann.ask("search", query="x")["status"]["code"] == "SESSION_NOT_FOUND"


def test_a_request_that_wants_no_reply_gets_none(ann: TeamSocket) -> None:
    ann.send({"type": "search", "query": "x"}, session=1, callback=-1)
    assert list_paths(ann.ask("search", query="close the session"))[0] == "src/session.py"


def test_without_a_token_nobody_connects(server: TeamServer) -> None:
    url = server.url.replace("http", "ws", 1) + "/v1/socket"
    for headers in ({}, {"Authorization": "Bearer ckt_no"}, {"Authorization": "Basic YTpi"}):
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(url, additional_headers=headers, proxy=None),
        ):
            pass
        assert refused.value.response.status_code == 403


def test_a_revoked_token_ends_the_connection_with_the_next_request(server: TeamServer) -> None:
    text = TokenFile(server.user_data / "team" / "tokens.json").add("bob")
    with server.open_socket("bob", text) as socket:
        socket.receive()
        socket.open_app()
        codekernel(server.user_data, server.user_data, "team", "token", "revoke", text[4:12])
        assert socket.ask("search", query="x")["status"]["message"] == "send a valid token"
        with pytest.raises(ConnectionClosed):
            socket.receive()


def test_each_message_is_audited_and_counted(server: TeamServer, bob: TeamSocket) -> None:
    bob.ask("search", query="close the session of sockets")
    (line,) = [each for each in server.read_audit() if "of sockets" in each.get("query", "")]
    assert (line["user"], line["action"], line["repository"]) == ("bob", "search", "app")
    bob.ask('evil"} 1\n', query="x")
    counts = server.make_client("ann").http.get("/metrics").text
    assert 'action="unknown",status="400"' in counts
    assert "evil" not in counts


def test_fifty_sockets_at_once_get_every_reply_and_none_of_another(server: TeamServer) -> None:
    together = threading.Barrier(CLIENTS)
    file = TokenFile(server.user_data / "team" / "tokens.json")
    tokens = [file.add(f"user{number}") for number in range(CLIENTS)]

    def ask(number: int) -> list[list[str]]:
        with open_socket(server, f"user{number}", tokens[number]) as socket:
            socket.open_app()
            together.wait(60)
            return [
                list_paths(socket.ask("search", query=f"only_word_{number} handle request"))
                for _ in range(QUESTIONS)
            ]

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(ask, range(CLIENTS)))
    assert answers == [[[f"src/part{number}.py"]] * QUESTIONS for number in range(CLIENTS)]


def test_a_limit_counts_for_sockets_too(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    rights = {
        "repositories": {"app": str(tmp_path / "app")},
        "users": {"ann": {"app": ["**"]}},
        "requestsPerMinute": 2,
    }
    with (
        run_team_server(tmp_path / "userData", rights) as server,
        open_socket(server, "ann") as ann,
    ):
        found = [ann.ask_main("getRepos")["status"]["message"] for _ in range(3)]
    assert found[:2] == ["", ""]
    assert found[2].startswith("too many requests; the next one in ")
