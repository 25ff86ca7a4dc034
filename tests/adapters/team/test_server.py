"""A team's kernel as a process: what each person gets, and what nobody learns."""

import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
from codekernel.adapters.team.tokens import TokenFile
from support.command_line import codekernel
from support.team_server import TeamClient, TeamServer, run_team_server

pytestmark = pytest.mark.slow

CLIENTS, QUESTIONS = 50, 4
# In the forbidden folder alone: nothing of it may come back.
SECRET = "swordfish"
FORBIDDEN = ("vault", SECRET, "LaunchCode", "nuclear")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("team")
    for folder in ("app/src", "app/vault/deep", "app/docs"):
        (root / folder).mkdir(parents=True)
    (root / "app/src/session.py").write_text(
        "def close_session(user):\n    user.leave()\n", "utf-8"
    )
    hidden = "class LaunchCode:\n    '''nuclear'''\n    word = 'swordfish'\n"
    (root / "app/vault/deep/launch_codes.py").write_text(hidden, "utf-8")
    (root / "app/vault/package.json").write_text('{"name": "nuclear-pile"}', "utf-8")
    (root / "app/docs/guide.md").write_text("# Guide\n\nHow to launch a session.\n", "utf-8")
    (root / "other").mkdir()
    for number in range(CLIENTS):
        text = f"def handle_{number}(request):\n    return only_word_{number}\n"
        (root / f"app/src/part{number}.py").write_text(text, "utf-8")
    return root


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[TeamServer]:
    rights: dict[str, Any] = {
        "repositories": {"app": str(place / "app"), "other": str(place / "other")},
        "users": {
            "ann": {"app": ["**"]},
            "bob": {"app": ["**", "!vault/"]},
            "eve": {"other": ["docs/"]},
            **{f"user{number}": {"app": [f"src/part{number}.py"]} for number in range(CLIENTS)},
        },
        "requestsPerMinute": 100_000,
    }
    with run_team_server(place / "userData", rights) as running:
        running.make_client("ann").wait_until_indexed(CLIENTS + 4)
        yield running


@pytest.fixture
def ann(server: TeamServer) -> TeamClient:
    return server.make_client("ann")


@pytest.fixture
def bob(server: TeamServer) -> TeamClient:
    return server.make_client("bob")


def list_paths(answer: dict[str, Any]) -> list[str]:
    return [each["filePath"] for each in answer["results"]]


def test_a_thin_client_searches_without_an_index_of_its_own(ann: TeamClient) -> None:
    assert list_paths(ann.ask("search", query="close the session"))[0] == "src/session.py"
    assert list_paths(ann.ask("search", query=SECRET))[0] == "vault/deep/launch_codes.py"
    assert "close_session" in ann.call("search", query="close the session")
    assert "1\tdef close_session(user):" in ann.call("read", path="src/session.py")
    assert ann.ask("read", path="src/session.py", startLine=2)["content"] == "    user.leave()"
    assert list_paths(ann.ask("grep", pattern="user.leave")) == ["src/session.py"]


@pytest.mark.parametrize(
    "query",
    [
        SECRET,
        "LaunchCode",
        "launch codes of the nuclear vault",
        f'"{SECRET}"',
        f"/{SECRET[:5]}.*/",
        "path:vault launch",
        "path:valt launch",
        "file:launch_codes.py",
        "file:launch_code.py",
        "symbol:LaunchCode",
        "symbol:LaunchCod",
        "vault/deep/launch_codes.py:1",
        "kind:code launch codes",
        "word = 'swordfish' class LaunchCode: nuclear word",
        "where is the class of the launch codes with its word",
    ],
)
def test_who_may_not_read_a_path_gets_no_hit_no_count_and_no_name_of_it(
    ann: TeamClient, bob: TeamClient, query: str
) -> None:
    answered = bob.post("/v1/repositories/app/search", query=query, limit=100)
    said = answered.text + bob.call("search", query=query)
    assert not [word for word in FORBIDDEN if word in said.replace(query, "")], said
    assert ann.ask("search", query=query), "who may, is answered"


def test_nor_by_a_package_that_a_scope_names(ann: TeamClient, bob: TeamClient) -> None:
    for there, missing in (
        ("nuclear-pile", "another-pile"),
        ("nuclear-pil", "another-pil"),
        ("vault", "other"),
        ("vault/deep", "other/deep"),
    ):
        hidden = bob.post("/v1/repositories/app/search", query=f"scope:{there} word")
        unknown = bob.post("/v1/repositories/app/search", query=f"scope:{missing} word")
        assert hidden.status_code == unknown.status_code
        assert hidden.text.replace(there, missing) == unknown.text
    paths = list_paths(ann.ask("search", query="scope:nuclear-pile word"))
    assert paths[0] == "vault/deep/launch_codes.py"


def test_nor_by_files_grep_or_read(server: TeamServer, bob: TeamClient) -> None:
    total = bob.ask("files")["total"]
    assert total == CLIENTS + 2
    assert bob.ask("files", glob="vault/**") == {"results": [], "total": 0}
    assert bob.ask("grep", pattern=SECRET) == {"results": [], "isComplete": True}
    assert bob.ask("grep", pattern="word", path="vault")["results"] == []
    said = [bob.call("files"), bob.call("grep", pattern=SECRET), bob.call("files", glob="vault/*")]
    assert not [text for text in said if "launch_codes" in text]
    for path in (
        "vault/deep/launch_codes.py",
        "./vault/deep/launch_codes.py",
        "src/../vault/deep/launch_codes.py",
        "/etc/passwd",
        "VAULT/deep/launch_codes.py",
    ):
        there = bob.post("/v1/repositories/app/read", path=path)
        missing = bob.post("/v1/repositories/app/read", path="vault/nothing.py")
        assert (there.status_code, missing.status_code) == (404, 404)
        assert there.text.replace(path.removeprefix("./"), "") == missing.text.replace(
            "vault/nothing.py", ""
        ), "as if it was not there"


def test_scores_do_not_tell_of_a_better_hit_that_is_hidden(
    ann: TeamClient, server: TeamServer
) -> None:
    """A query whose best hit is hidden ranks the rest as if that hit did not exist."""
    shown = server.make_client("user7").ask("search", query="only_word_7 swordfish")["results"]
    alone = server.make_client("user7").ask("search", query="only_word_7")["results"]
    assert [each["filePath"] for each in shown] == ["src/part7.py"]
    assert shown[0]["score"] == pytest.approx(alone[0]["score"], abs=0.2)


def test_a_repository_without_rights_is_not_there(server: TeamServer, bob: TeamClient) -> None:
    eve = server.make_client("eve")
    assert eve.http.get("/v1/repositories").json() == {"repositories": ["other"]}
    forbidden = eve.post("/v1/repositories/app/search", query="x")
    unknown = eve.post("/v1/repositories/nowhere/search", query="x")
    assert (forbidden.status_code, forbidden.text) == (404, unknown.text)
    assert bob.post("/mcp/other", jsonrpc="2.0", id=1, method="ping").status_code == 404


def test_without_a_token_nothing_is_answered(server: TeamServer) -> None:
    for headers in ({}, {"Authorization": "Bearer ckt_no"}, {"Authorization": "Basic YTpi"}):
        with httpx.Client(base_url=server.url, headers=headers, trust_env=False) as client:
            for path in ("/v1/repositories", "/metrics"):
                assert client.get(path).status_code == 401
            assert client.post("/v1/repositories/app/search", json={}).status_code == 401
            assert client.get("/health").text == "ok\n"


def test_a_revoked_token_is_refused_at_once(server: TeamServer) -> None:
    path = server.user_data / "team" / "tokens.json"
    text = TokenFile(path).add("bob")
    with TeamClient(server.url, text).http as client:
        assert client.get("/v1/repositories").status_code == 200
        done = codekernel(server.user_data, server.user_data, "team", "token", "revoke", text[4:12])
        assert (done.returncode, done.stdout) == (0, "revoked: 1\n")
        assert client.get("/v1/repositories").status_code == 401


def test_requests_are_audited_and_counted_without_names_in_the_counts(
    server: TeamServer, ann: TeamClient, bob: TeamClient
) -> None:
    ann.ask("search", query="close the session of audit")
    (line,) = [each for each in server.read_audit() if "of audit" in each.get("query", "")]
    assert (line["user"], line["action"], line["repository"]) == ("ann", "search", "app")
    assert (line["status"], line["results"] > 0) == (200, True)
    counts = ann.http.get("/metrics").text
    assert 'codekernel_requests_total{action="search",status="200"}' in counts
    assert 'codekernel_chunks{repository="app"}' in counts
    assert "codekernel_chunks{" not in bob.http.get("/metrics").text, "a count of hidden files"
    assert "ann" not in counts


def test_malformed_requests_are_refused_with_a_reason(ann: TeamClient) -> None:
    place = "/v1/repositories/app/search"
    assert ann.http.post(place, content=b"{").status_code == 400
    assert ann.http.post(place, content=b"[]").status_code == 400
    assert ann.post(place, query=3).status_code == 400
    assert ann.post(place, query="/(/").status_code == 400
    assert ann.http.post(place, content=b" " * 300_000).status_code == 413


def test_fifty_clients_at_once_get_every_reply_and_none_of_another(server: TeamServer) -> None:
    clients = [server.make_client(f"user{number}") for number in range(CLIENTS)]
    together = threading.Barrier(CLIENTS)

    def ask(number: int) -> list[list[str]]:
        together.wait(60)
        return [
            list_paths(clients[number].ask("search", query=f"only_word_{number} handle request"))
            for _ in range(QUESTIONS)
        ]

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(ask, range(CLIENTS)))
    assert answers == [[[f"src/part{number}.py"]] * QUESTIONS for number in range(CLIENTS)]


def test_a_person_who_asks_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    authority = trustme.CA()
    made = authority.issue_cert("127.0.0.1")
    made.private_key_pem.write_to_path(tmp_path / "key.pem")
    made.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    rights = {
        "repositories": {"app": str(tmp_path / "app")},
        "users": {"ann": {"app": ["**"]}},
        "requestsPerMinute": 2,
    }
    words = ("--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem"))
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    with run_team_server(tmp_path / "userData", rights, *words, scheme="https") as server:
        token = TokenFile(tmp_path / "userData" / "team" / "tokens.json").add("ann")
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(verify=trust, headers=headers, trust_env=False) as client:
            found = [client.get(f"{server.url}/v1/repositories") for _ in range(3)]
    assert [each.status_code for each in found] == [200, 200, 429]
    assert 1 <= int(found[-1].headers["Retry-After"]) <= 31


def test_a_server_on_a_network_needs_tls_and_rights(tmp_path: Path) -> None:
    done = codekernel(tmp_path, tmp_path, "serve", "--team", "--host", "0.0.0.0")  # noqa: S104
    assert (done.returncode != 0, "--tls-cert" in done.stderr) == (True, True)
    done = codekernel(tmp_path, tmp_path, "serve", "--team")
    assert (done.returncode != 0, "rights.json" in done.stderr) == (True, True)
