"""Whatever a repository, a model or a person's settings hold, no terminal is commanded by it."""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.chat_server import ChatServer, reply_calls, reply_text
from support.command_line import Terminal, codekernel
from support.conversation_client import ENVIRON, chat_settings
from support.git_history import GitHistory
from support.kernel_process import KernelProcess, code_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows refuses such names"),
]

# Title, clear screen, colours, C1 forms of the same, direction of text, DEL, separators of lines.
EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[8m\x9b31m\x9d0;x\x9c\u202e\u2066\x7f\u2028\r\b"
NAME = f"zeppelin{EVIL}"
ANSWER = f"The `{NAME}.py:1-2` says {EVIL} so.\n\n```python\n{EVIL}\n```\n"
TOOLS_USED = reply_calls(("list_directory", {"path": "."}), ("read_file", {"path": EVIL}))
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# What a screen of ours writes: our colours, a line drawn anew, a link, and the terminal's own \r\n.
OWN = re.compile(r"\x1b\[(?:0|1|2|3[1-6]|1;31|1;36|1;3[0-9]|4|3)m|\r\x1b\[K|\r+\n")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer([reply_text(ANSWER)]) as running:
        yield running


@pytest.fixture
def project(server: ChatServer, user_data: Path, tmp_path: Path) -> Path:
    folder = tmp_path / f"repo{EVIL}"
    history = GitHistory(folder)
    code = f"class Zeppelin:\n    '''{EVIL}'''\n    def close(self):\n        pass  # {EVIL}\n"
    history.commit(
        f"Close the zeppelin when a peer vanishes {EVIL}",
        {f"{NAME}.py": code, f"{NAME}.bin": "\0\1"},
        author=f"Ada{EVIL.replace(chr(13), '')} <ada@example.com>",
    )
    history.commit(f"Remember parsed zeppelin lines {EVIL}", {f"{NAME}.py": code * 2})
    chat_settings(user_data, server.url)
    settings = json.loads((user_data / "settings.json").read_text())
    models = settings["conversationSettings"]["generationModel"]
    models.append({**models[0], "name": f"model{EVIL}"})
    (user_data / "settings.json").write_text(json.dumps(settings))
    return folder


COMMANDS = {
    "search": ("search", "--words", "zeppelin"),
    "search --explain": ("search", "--words", "--explain", "zeppelin"),
    "search --files": ("search", "--words", "--files", "zeppelin"),
    "search --json": ("search", "--words", "--json", "--explain", "zeppelin"),
    "search nowhere": ("search", "--words", "--repo", f"/no{EVIL}", "zeppelin"),
    "search wrong": ("search", f"--{EVIL}", "zeppelin"),
    "ask": ("ask", f"zeppelin {EVIL.replace(chr(0), '')}?"),
    "ask --json": ("ask", "--json", "zeppelin?"),
    "ask no model": ("ask", "--model", EVIL, "zeppelin?"),
    "agent": ("agent", "zeppelin?"),
    "agent --stdio": ("agent", "--stdio", "zeppelin?"),
    "agent --uap": ("agent", "--uap", "zeppelin?"),
    "agent wrong": ("agent", "--stdio", f"--{EVIL}", "x"),
    "doctor": ("doctor",),
    "doctor why": ("doctor", "why", f"{NAME}.py"),
    "doctor why gone": ("doctor", "why", f"{EVIL}/{EVIL}.c"),
    "doctor why query": ("doctor", "why", f"{NAME}.py", "zeppelin", EVIL),
    "eval": ("eval", "--commits", "5"),
    "eval --json": ("eval", "--commits", "5", "--json"),
    "models": ("models",),
    "key": ("key", "list"),
    "key none": ("key", "remove", EVIL),
    "unknown": (EVIL,),
}


def unsafe_in(text: str) -> list[str]:
    return UNSAFE.findall(OWN.sub("", text))


def prepare(name: str, server: ChatServer, user_data: Path, project: Path) -> None:
    if name.startswith("agent"):
        server._script[:0] = [TOOLS_USED]
    if name == "doctor":
        register(user_data, project)


def register(user_data: Path, project: Path) -> None:
    with KernelProcess(user_data, environ=ENVIRON) as kernel:
        code = code_of(kernel.request("createRepo", repoName=project.name, path=str(project)))
        assert code == "SUCCESS"


@pytest.mark.parametrize("name", COMMANDS)
def test_no_control_sequence_of_others_comes_out_of_a_pipe(
    name: str, server: ChatServer, user_data: Path, project: Path
) -> None:
    prepare(name, server, user_data, project)
    done = codekernel(user_data, project, *COMMANDS[name], **ENVIRON, PATH=os.environ["PATH"])
    assert done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not UNSAFE.findall(done.stdout), done.stdout
    assert not UNSAFE.findall(done.stderr), done.stderr
    if "--json" in name or "--stdio" in name or "--uap" in name:
        assert done.stdout.isascii()


@pytest.mark.parametrize("name", COMMANDS)
def test_no_control_sequence_of_others_reaches_a_terminal(
    name: str, server: ChatServer, user_data: Path, project: Path
) -> None:
    prepare(name, server, user_data, project)
    environ = {**ENVIRON, "PATH": os.environ["PATH"]}
    with Terminal(user_data, project, *COMMANDS[name], **environ) as terminal:
        _, shown = terminal.finish()
    assert shown
    assert "Traceback" not in shown
    assert not unsafe_in(shown), shown
    assert "\x1b[8m" not in shown
