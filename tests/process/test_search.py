"""The search message over a real kernel process, unusual queries included."""

import json
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.kernel_process import KernelProcess, Line, code_of

FIXTURES = Path(__file__).parents[1] / "fixtures" / "models"
EXAMPLE = Path(__file__).parents[2] / "userData.example" / "settings.json"

SESSION = """class Session:
    def close(self) -> None:
        \"\"\"End the session and refuse waiting requests.\"\"\"
        self.closed = True
"""
ROUTES = "def add_route(path, handler):\n    routes[path] = handler  # 路由表\n"
TEST = "from session import Session\n\ndef test_close():\n    Session().close()\n"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelProcess]:
    """A repository of three files, indexed by words and by meaning."""
    repo = tmp_path_factory.mktemp("search") / "demo"
    repo.mkdir()
    user_data = repo.parent / "userData"
    user_data.mkdir()
    with KernelProcess(user_data) as kernel:
        yield indexed(kernel, repo)


def is_embedded(path: str, line: Line) -> bool:
    message = line["message"]
    return bool(message.get("filePath") == path and message["status"] == "done")


def indexed(kernel: KernelProcess, repo: Path) -> KernelProcess:
    (repo / "session.py").write_text(SESSION, encoding="utf-8")
    (repo / "routing.py").write_text(ROUTES, encoding="utf-8")
    (repo / "tests").mkdir()
    (repo / "tests" / "test_session.py").write_text(TEST, encoding="utf-8")
    kernel.open(repo, session=1)
    for path in ("session.py", "routing.py", "tests/test_session.py"):
        kernel.wait_for(
            partial(is_embedded, path),
            path,
        )
    return kernel


def results(kernel: KernelProcess, query: str, **fields: Any) -> list[dict[str, Any]]:
    reply = kernel.request("search", session=1, query=query, **fields)
    assert code_of(reply) == "SUCCESS", reply
    found: list[dict[str, Any]] = reply["data"]["results"]
    return found


def test_the_definition_comes_before_its_use_and_its_test(opened: KernelProcess) -> None:
    found = results(opened, "Session")
    assert [hit["filePath"] for hit in found][:1] == ["session.py"]
    scores = [hit["score"] for hit in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert results(opened, "路由")[0]["filePath"] == "routing.py"
    assert len(results(opened, "session", limit=1)) == 1
    assert len(results(opened, "session", limit=10**9)) >= 2


def test_an_explained_result_says_what_its_score_is_made_of(opened: KernelProcess) -> None:
    found = results(opened, "Session", explain=True)[0]
    assert found["why"]["definition"] > 0
    assert "why" not in results(opened, "Session")[0]


UNLIKELY = [
    "",
    " \t\n",
    "?!.,;()",
    "the of and",
    "\x00\x01\x1b[31m",
    "שלום עולם",
    "🦀🔥",
    "ឯកសារ",
    "a" * 1_000_000,
    "word " * 200_000,
    "(" * 10_000,
    "path:" * 1000,
]


def test_whatever_is_asked_is_answered(opened: KernelProcess) -> None:
    for query in UNLIKELY:
        assert isinstance(results(opened, query), list)
    for limit in (0, -1, "ten", 1.5):
        reply = opened.request("search", session=1, query="x", limit=limit)
        assert code_of(reply) == "WRONG_PARAM"


def test_a_selected_reranker_is_heard_and_a_broken_one_does_no_harm(
    opened: KernelProcess, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(FIXTURES / "ms-marco-MiniLM", broken)
    for file in broken.rglob("*.onnx"):
        file.write_bytes(b"no model")
    for folder in (FIXTURES / "ms-marco-MiniLM", broken):
        model = {"name": "judge", "path": str(folder), "type": "rerank"}
        settings = (
            EXAMPLE.read_text(encoding="utf-8")
            .replace('"models": []', f'"models": [{json.dumps(model)}]')
            .replace(
                '"rerankConfig": {',
                '"rerankConfig": {"configs": [{"modelName": "judge", "selected": true}], "was": {',
            )
        )
        (opened.user_data / "settings.json").write_text(_closed(settings), encoding="utf-8")
        assert code_of(opened.request("updateSettings")) == "SUCCESS"
        plain = [hit["chunkId"] for hit in results(opened, "Session")]
        heard = [hit["chunkId"] for hit in results(opened, "Session", accuracy=True)]
        assert sorted(heard) == sorted(plain)


def _closed(settings: str) -> str:
    """The brace that the old rerankConfig, renamed, needs."""
    head, _, tail = settings.partition('"localModelManagement"')
    last = head.rindex("}")
    return f'{head[:last]}}}{head[last:]}"localModelManagement"{tail}'
