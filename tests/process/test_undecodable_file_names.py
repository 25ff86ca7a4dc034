"""A file whose name is not UTF-8 can be opened by its escaped name, through every interface."""

import json
import os
import random
import sys
from pathlib import Path

import pytest
from codekernel.agent.tool import ToolContext
from codekernel.agent.tools.toolsets import build_all_tools
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.untrusted_text import encode_path
from support.command_line import codekernel
from support.conversation_client import chat_settings
from support.index_client import open_client
from support.kernel_process import KernelProcess

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")

FIXED = [
    *(b"caf\xe9.py", rb"caf\xe9.py", b"\xff\x1b[2J\x9b.py", b"dir\xfe/in\xc3side.py"),
    *(rb"a\u009b.py", "a\x9b.py".encode()),
]


@pytest.fixture
def names(repo: Path, user_data: Path) -> list[bytes]:
    chat_settings(user_data, "http://127.0.0.1:9/v1")
    chance = random.Random(7)  # noqa: S311
    letters = [*range(1, 0x2F), *range(0x30, 0x100)]
    drawn = [bytes(chance.choice(letters) for _ in range(6)) + b".py" for _ in range(12)]
    names = [*FIXED, *(name.replace(b"\n", b"x") for name in drawn)]
    for number, name in enumerate(names):
        path = repo / os.fsdecode(b"z" + name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"def zeppelin_{number}():\n    return {number}\n", encoding="utf-8")
    return [b"z" + name for name in names]


def content_of(number: int) -> str:
    return f"def zeppelin_{number}():\n"


def test_a_window_reads_lines_by_the_name_of_a_result(
    repo: Path, user_data: Path, names: list[bytes]
) -> None:
    with KernelProcess(user_data) as kernel:
        open_client(kernel, repo, 7).wait_until_idle()
        for number in range(len(names)):
            query = f"zeppelin_{number}()"
            found = kernel.request("search", session=7, query=query)["data"]["results"]
            shown = kernel.request(
                "readLines", session=7, filePath=found[0]["filePath"], beginLine=0, endLine=1
            )
            assert shown["data"]["content"] == content_of(number)
            assert found[0]["filePath"].encode("utf-8")


def test_a_terminal_names_files_that_it_knows_again(
    repo: Path, user_data: Path, names: list[bytes]
) -> None:
    done = codekernel(user_data, repo, "search", "--words", "--json", "--limit", "40", "zeppelin")
    results = json.loads(done.stdout)
    assert len(results) == len(names)
    for result in results[:6]:
        asked = codekernel(user_data, repo, "doctor", "why", result["filePath"])
        assert "rules: to be indexed" in asked.stdout, result["filePath"]
        shown = asked.stdout.partition(" in /")[0]
        again = codekernel(user_data, repo, "doctor", "why", shown)
        assert again.stdout == asked.stdout


def test_the_tools_of_an_agent_open_what_they_have_listed(
    repo: Path, tmp_path: Path, names: list[bytes]
) -> None:
    root, tools = WorkspaceRoot.from_path(repo), build_all_tools()
    context = ToolContext(root, ChangeJournal(tmp_path / "journal", root))
    for number, name in enumerate(names):
        shown = encode_path(os.fsdecode(name))
        read = tools.call("read_file", {"path": shown}, context)
        assert content_of(number) in read.text
    found = tools.call("grep_file", {"pattern": "zeppelin_"}, context).text
    listed = tools.call("list_directory", {"path": "."}, context).text
    for name in names:
        shown = encode_path(os.fsdecode(name))
        assert shown.partition("/")[0] in listed
        assert f"- {shown}:1:" in found
    context.close()
