"""PROTOCOL.md is replayed against a real kernel, and nothing that exists is missing from it."""

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from codekernel import errors
from codekernel.handlers.context import main_router, session_router
from codekernel.protocol import PROTOCOL_VERSION
from codekernel.protocol.envelope import Message, get_message_type
from codekernel.storage.lexical_index import LexicalIndex
from support.chat_endpoint import chat_endpoint
from support.kernel_process import SERVE, KernelProcess, Line
from support.transcripts import DOCUMENT, Transcript, fill_placeholders, matches, transcripts

EXAMPLE = Path(__file__).parents[1] / "userData.example" / "settings.json"
CRASHING_KERNEL = (sys.executable, str(Path(__file__).parent / "support" / "crashing_kernel.py"))
DOCUMENTED = {transcript.name: transcript for transcript in transcripts()}
MADE = b"made\n"
NOISE = b"\0\1\2\3" * 100
# What no other quick test asks a real kernel about; the rest is played where there is more time.
QUICK = {"malformed", "ready", "getIndexStatus", "beginConversation"}


@dataclass
class TranscriptPlayer:
    """Where a transcript is played: a kernel and what is around it."""

    kernel: KernelProcess
    user_data: Path
    repo: Path
    url: str
    heard: int = 0
    left: list[Line] = field(default_factory=list)  # read, and not compared yet
    held: list[LexicalIndex] = field(default_factory=list)
    actions: dict[str, Callable[[], object]] = field(init=False)

    def __post_init__(self) -> None:
        self.actions = {
            "another program holds the words of the index": self.hold_words,
            "it lets go of them": lambda: self.held.pop().close(),
            "the folder of the repository is deleted": lambda: shutil.rmtree(self.repo),
            "settings-modified.json is valid": lambda: self.modify_settings(10),
            "settings-modified.json selects the static model alone": self.select_static,
            "hello.py is written": self.write_file,
            "noise.bits is written": lambda: (self.repo / "noise.bits").write_bytes(NOISE),
            "conversation-1.json is there": self.write_conversation,
            "an agent has made made.txt in conversation 2": self.write_agents_conversation,
            "made.txt is there": lambda: (self.repo / "made.txt").write_bytes(MADE),
            "settings-modified.json has the chat model at $URL": self.name_chat_model,
            "settings-modified.json has searchLimit 0": lambda: self.modify_settings(0),
            "settings-modified.json is moved to settings.json": self.move_settings,
            "the kernel breaks": lambda: self.kernel.write(b"break\n"),
            "exits with 0": lambda: self.exits_with(0),
            "exits with 1": lambda: self.exits_with(1),
        }

    def hold_words(self) -> None:
        """What stands in the way of an index is moved aside, but not what somebody writes."""
        words = self.user_data / "index" / "1" / "words"
        self.held.append(LexicalIndex.open(words, writable=True))

    def modify_settings(self, search_limit: int) -> None:
        text = EXAMPLE.read_text(encoding="utf-8")
        changed = text.replace('"searchLimit": 10', f'"searchLimit": {search_limit}')
        (self.user_data / "settings-modified.json").write_text(changed, encoding="utf-8")

    def select_static(self) -> None:
        config = {
            "name": "static",
            "modelName": "codekernel-static-v3",
            "inputLength": 950,  # as by default, so that nothing is cut again
            "selected": True,
        }
        text = EXAMPLE.read_text(encoding="utf-8")
        changed = text.replace('"configs": []', f'"configs": [{json.dumps(config)}]', 1)
        (self.user_data / "settings-modified.json").write_text(changed, encoding="utf-8")

    def name_chat_model(self) -> None:
        path = self.user_data / "settings-modified.json"
        known = "https://api.deepseek.com/v1/chat/completions"
        path.write_text(path.read_text(encoding="utf-8").replace(known, self.url), encoding="utf-8")

    def write_file(self) -> None:
        text = "def hello():\n    return 1 < 2\n"
        written = self.user_data / "hello.py"
        written.write_text(text, encoding="utf-8")
        written.replace(self.repo / "hello.py")  # or a busy machine sees it empty first

    def write_conversation(self) -> None:
        turn = {"query": "hello", "retrieval": [], "answer": "It is here.", "time": 1700000000000}
        content = {
            "conversationId": 1,
            "topic": "hello",
            "history": [turn],
            "repoPath": str(self.repo),
        }
        folder = self.user_data / "conversations"
        folder.mkdir()
        (folder / "conversation-1.json").write_text(json.dumps(content), encoding="utf-8")

    def write_agents_conversation(self) -> None:
        agent = {"session": "0badcafe", "firstChange": 1, "messages": []}
        turn = {"query": "make it", "retrieval": [], "answer": "Done.", "time": 1700000000000}
        content = {
            "conversationId": 2,
            "topic": "make it",
            "history": [turn | {"agent": agent}],
            "repoPath": str(self.repo),
        }
        change = {
            "number": 1,
            "tool": "create_file",
            "kind": "created",
            "path": "made.txt",
            "sha256_before": "",
            "sha256_after": hashlib.sha256(MADE).hexdigest(),
            "folders": [],
        }
        files = {
            "conversations/conversation-2.json": content,
            "agent/journals/0badcafe/journal.jsonl": change,
        }
        for name, written in files.items():
            (self.user_data / name).parent.mkdir(parents=True)
            (self.user_data / name).write_text(json.dumps(written), encoding="utf-8")

    def move_settings(self) -> None:
        (self.user_data / "settings-modified.json").replace(self.user_data / "settings.json")

    def exits_with(self, code: int) -> None:
        assert self.kernel.exit_code() == code

    def play(self, transcript: Transcript) -> None:
        values = {"REPO": str(self.repo), "URL": self.url}
        for step in transcript.steps:
            text = fill_placeholders(step.text, values)
            if step.who == ">":
                self.kernel.write(text.encode() + b"\n")
            elif step.who == "!":
                self.actions[step.text]()
            else:
                self.expect_line(json.loads(text))

    def expect_line(self, expected: Line) -> None:
        """Compare with the next line; what the index reports comes from a thread of its own."""
        while not (comparable := [line for line in self.left if _is_alike(line, expected)]):
            line = self.next_line()
            if not _grows(line):
                self.left.append(line)
        self.left.remove(comparable[0])
        assert matches(expected, comparable[0]), f"expected {expected}, got {comparable[0]}"

    def next_line(self) -> Line:
        number = self.heard
        self.kernel.wait_for(lambda _: len(self.kernel.lines) > number, f"line {number}")
        self.heard += 1
        return self.kernel.lines[number]


def _is_alike(line: Line, other: Line) -> bool:
    """Whether both or none are reports of the index."""
    types = (one.get("message", {}).get("type") for one in (line, other))
    return len({each == "embeddingStatus" for each in types}) == 1


def _grows(line: Line) -> bool:
    """How often something that grows is told depends on the speed of the machine."""
    message = line.get("message", {})
    if message.get("type") == "embeddingStatus" and 0 < message["progress"] < 1:
        return True
    data = line.get("data", {})
    return data.get("type") == "message" and not data["content"].get("meta", {}).get(
        "complete", True
    )


@pytest.fixture
def url() -> Iterator[str]:
    with chat_endpoint() as address:
        yield address


@pytest.mark.parametrize(
    "transcript",
    [
        pytest.param(transcript, id=name, marks=[] if name in QUICK else pytest.mark.slow)
        for name, transcript in DOCUMENTED.items()
    ],
)
def test_the_kernel_says_what_the_document_says(
    transcript: Transcript, user_data: Path, repo: Path, url: str
) -> None:
    command = CRASHING_KERNEL if transcript.name == "kernelServerCrashed" else SERVE
    with KernelProcess(user_data, command=command) as kernel:
        player = TranscriptPlayer(kernel, user_data, repo, url)
        if transcript.name != "ready":
            kernel.event("ready")
            player.heard = 1
        if transcript.session is not None:
            kernel.open(repo, transcript.session)
            player.heard = len(kernel.lines)
        player.play(transcript)
        if kernel.process.poll() is None:
            kernel.end_input()
            assert kernel.exit_code() == 0
        more = [*player.left, *kernel.lines[player.heard :]]
        assert more == [], "the kernel said more than the document"


def declared() -> set[str]:
    """Every message type that has a declaration."""
    return {
        get_message_type(declaration)
        for declaration in Message.__subclasses__()
        if _ours(declaration)
    }


def _ours(declaration: type[Message]) -> bool:
    return declaration.__module__.startswith("codekernel.")


def test_every_message_is_documented() -> None:
    headings = {
        line.removeprefix("## ")
        for line in DOCUMENT.read_text(encoding="utf-8").splitlines()
        if line.startswith("## ")
    }
    assert declared()
    assert declared() <= headings


def test_every_request_has_a_transcript() -> None:
    assert main_router.routes.keys() | session_router.routes.keys() <= DOCUMENTED.keys()


def test_the_quick_transcripts_exist() -> None:
    assert DOCUMENTED.keys() >= QUICK


def test_every_code_is_documented() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    codes = {
        error.code
        for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, errors.KernelError)
    }
    assert {code for code in codes if f"`{code}`" not in text} == set()


def test_the_document_names_its_version() -> None:
    assert f"Version {PROTOCOL_VERSION}." in DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("expected", "actual"),
    [({"a": 1}, {"a": 1, "b": 2}), ({"a": "..."}, {"a": ""}), ([1], [1, 2]), (1, True)],
)
def test_the_comparison_would_notice(expected: object, actual: object) -> None:
    assert not matches(expected, actual)
