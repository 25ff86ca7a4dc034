"""The roots of a client, and calls about other repositories, over a real ``codekernel mcp``."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast

import pytest
from codekernel.adapters.mcp.roots import RootsFollower, parse_roots
from support.kernel_process import bare_environment

TIMEOUT_SECONDS = 60


def test_the_repository_around_a_root_is_meant(tmp_path: Path) -> None:
    inner = tmp_path / "shop with blanks" / "src"
    inner.mkdir(parents=True)
    (inner.parent / ".git").mkdir()
    uris = [inner.as_uri(), inner.parent.as_uri(), (tmp_path / "gone").as_uri(), "https://a.b/c"]
    result = {"roots": [*({"uri": uri} for uri in uris), {"name": "no uri"}, 3]}
    assert parse_roots(result) == [inner.parent]
    assert parse_roots(None) == parse_roots({"roots": None}) == []


def test_only_a_client_with_roots_is_asked_and_old_answers_do_not_count() -> None:
    sent: list[dict[str, Any]] = []
    found: list[object] = []
    follower = RootsFollower(lambda: None, found.append)
    follower.note_notification("notifications/initialized", sent.append)
    follower.note_initialize({"capabilities": {"roots": {}}})
    follower.note_notification("notifications/cancelled", sent.append)
    assert sent == []
    follower.note_notification("notifications/initialized", sent.append)
    follower.note_notification("notifications/roots/list_changed", sent.append)
    first, second = sent
    follower.note_reply({"id": first["id"], "result": {"roots": []}})
    assert found == []
    follower.note_reply({"id": second["id"], "error": {"code": -32601, "message": "no"}})
    assert found == [[]]


def test_a_client_without_roots_works_where_it_was_started() -> None:
    found: list[object] = []
    follower = RootsFollower(lambda: None, found.append)
    follower.note_initialize({"capabilities": {}})
    assert found == [()]


class RawClient:
    """A client that answers ``roots/list``."""

    def __init__(
        self, user_data: Path, cwd: Path, roots: list[Path], home: Path | None = None
    ) -> None:
        self.roots = roots
        home = home or cwd  # which is no project
        self._process = subprocess.Popen(
            [sys.executable, "-m", "codekernel", "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**bare_environment(user_data), "HOME": str(home), "USERPROFILE": str(home)},
            cwd=cwd,
            text=True,
            encoding="utf-8",
        )
        self._to_server = cast("TextIO", self._process.stdin)
        self._from_server = cast("TextIO", self._process.stdout)
        self._number = 0
        client = {"name": "raw", "version": "1"}
        self.request(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={"roots": {"listChanged": True}},
            clientInfo=client,
        )
        self.send(method="notifications/initialized")

    def send(self, **message: Any) -> None:
        self._to_server.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._to_server.flush()

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        self.send(id=self._number, method=method, params=params)
        for line in self._from_server:
            message = json.loads(line)
            if message.get("method") == "roots/list":
                roots = [{"uri": root.as_uri()} for root in self.roots]
                self.send(id=message["id"], result={"roots": roots})
            elif message.get("id") == self._number:
                return dict(message["result"])
        raise EOFError("the server has ended")

    def call(self, tool: str, **arguments: Any) -> str:
        result = self.request("tools/call", name=tool, arguments=arguments)
        return str(result["content"][0]["text"])

    def close(self) -> None:
        self._to_server.close()
        self._process.wait(TIMEOUT_SECONDS)
        self._from_server.close()


@pytest.fixture
def projects(tmp_path: Path) -> dict[str, Path]:
    texts = {
        "shop": "def sell_basket(item):\n    return check_price(item)\n",
        "bank": "def transfer_money(account):\n    return check_account(account)\n",
    }
    for name, text in texts.items():
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / f"{name}.py").write_text(text, encoding="utf-8")
    return {name: tmp_path / name for name in texts}


@pytest.fixture
def client(user_data: Path, tmp_path: Path, projects: dict[str, Path]) -> Iterator[RawClient]:
    home = tmp_path / "home"
    home.mkdir()
    client = RawClient(user_data, home, [projects["shop"]])
    yield client
    client.close()


@pytest.mark.slow
def test_the_root_of_the_client_is_searched_and_others_by_name_folder_or_path(
    client: RawClient, projects: dict[str, Path]
) -> None:
    assert "shop.py:1" in client.call("search", query="sell a basket")
    bank = projects["bank"]
    assert "transfer_money" in client.call("read", path=str(bank / "bank.py"), repo=str(bank))
    both = client.call("search", query="transfer money to an account", repo="shop, bank")
    assert both.startswith("bank/bank.py:1")
    assert "[Paths begin with the repository" in both
    assert "transfer_money" in client.call("read", path="bank/bank.py", repo="bank")
    assert "transfer_money" in client.call("read", path=str(bank / "bank.py"))
    assert "transfer_money" in client.call("symbols", name="transfer_money", repo="bank")
    assert "bank/bank.py" in client.call("search", query="transfer repo:bank", repo="*")
    assert "near: bank" in client.call("search", query="transfer", repo="banc")
    assert "one repository" in client.call("files", repo="shop,bank")
    client.roots = [bank]
    client.send(method="notifications/roots/list_changed")
    assert "bank.py:1" in client.call("search", query="transfer money")


@pytest.mark.slow
def test_outside_of_a_project_and_without_roots_the_agent_is_told_what_to_do(
    client: RawClient,
) -> None:
    client.roots = []
    client.send(method="notifications/roots/list_changed")
    assert "pass repo" in client.call("search", query="sell a basket")
    assert {tool["name"] for tool in client.request("tools/list")["tools"]} > {"search", "read"}


@pytest.mark.slow
def test_a_project_that_a_client_with_roots_was_started_in_is_not_indexed(
    user_data: Path, projects: dict[str, Path]
) -> None:
    bank, shop = projects["bank"], projects["shop"]
    client = RawClient(user_data, bank, [shop], home=bank.parent)
    assert "shop.py:1-2" in client.call("symbols", name="sell_basket")
    assert "sell_basket" in client.call("read", path=str(shop / "shop.py"))
    assert 'no repository is called "bank"' in client.call("search", query="x", repo="bank")
    client.roots = []
    client.send(method="notifications/roots/list_changed")
    assert "bank.py:1-2" in client.call("symbols", name="transfer_money")
    client.close()
