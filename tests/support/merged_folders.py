"""Two userData folders with real vaults, and what is in the one that took the other over.

As a program it takes a folder over again and again, each time from the beginning, killed before the
n-th line of the merge, and once more to the end; it prints what was found after each.
"""

import json
import os
import shutil
import signal
import sys
from datetime import date
from pathlib import Path
from types import FrameType
from typing import Any

import codekernel.runtime.user_data_merge as merge_module
import codekernel.settings.merging as settings_module
import codekernel.storage.vault.merging as vault_module
from codekernel.agent.session_store import AgentSession, AgentSessionStore
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.domain.chat import ChatMessage, Role
from codekernel.runtime.user_data_merge import merge_user_data
from codekernel.storage.user_data import UserData
from codekernel.storage.vault.vault import ApiKeys, RepoRegistry, UsageLedger, Vault

# No keyring: each vault has a key file of its own.
ENVIRON = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
DAY = date(2026, 11, 1)
SESSION = "0123abcd"


def open_vault(user_data: UserData) -> Vault:
    return Vault(user_data, {}, may_quarantine=lambda: True)


def make_conversation(
    user_data: UserData, number: int, query: str, session: str = "", **fields: Any
) -> Path:
    turn: dict[str, Any] = {"query": query, "retrieval": [], "answer": "So.", "time": 1}
    if session:
        turn["agent"] = {"session": session, "firstChange": 1, "messages": [], "changes": []}
    document = {"conversationId": number, "topic": query, "history": [turn], **fields}
    path = user_data.conversations_folder / f"conversation-{number}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def make_session(user_data: UserData, root: Path, name: str, text: str) -> None:
    """A session of an agent that has changed one file, which can be undone."""
    session = AgentSession(name, root)
    session.transcript.messages.append(ChatMessage(Role.USER, text))
    AgentSessionStore(user_data.root).save(session)
    journal = ChangeJournal.from_user_data(user_data.root, name, WorkspaceRoot.from_path(root))
    with journal.record_write("Edit", root / "edited.py", b"before", b"after"):
        pass


def make_settings(user_data: UserData, *models: str) -> None:
    entries = [{"name": each, "modelName": each, "url": "http://127.0.0.1:9"} for each in models]
    content = {"conversationSettings": {"generationModel": entries, "historyLength": 5}}
    user_data.settings_file.parent.mkdir(parents=True, exist_ok=True)
    user_data.settings_file.write_text(json.dumps(content), encoding="utf-8")


def make_both(source: UserData, target: UserData, root: Path) -> None:
    """Data in both, with everything that can collide."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "edited.py").write_bytes(b"after")
    here, there = open_vault(target), open_vault(source)
    for vault, key, tokens in ((here, "sk-here", 1), (there, "sk-there", 10)):
        repos, keys = RepoRegistry(vault), ApiKeys(vault)
        repos.add("same", Path("/x/same"))
        repos.add("demo", Path("/x/here/demo" if vault is here else "/x/there/demo"))
        keys.set("model", key)
        keys.set("shared", "sk-shared")
        for repo in repos.list_all():
            UsageLedger(vault).record(repo.id, "m", DAY, tokens, tokens)
    RepoRegistry(there).add("twin", Path("/x/there/demo"))
    ApiKeys(there).set("other", "sk-other")
    for repo in RepoRegistry(there).list_all():
        index = source.repo_index_folder(repo.id)
        index.mkdir(parents=True)
        (index / "catalogue.db").write_text(f"of {repo.name}", encoding="utf-8")
    mine = target.repo_index_folder(1)
    mine.mkdir(parents=True)
    (mine / "catalogue.db").write_text("mine", encoding="utf-8")
    here.close()
    there.close()
    make_settings(target, "model")
    make_settings(source, "model", "only there")
    make_session(target, root, SESSION, "here")
    make_session(source, root, SESSION, "there")
    make_conversation(target, 5, "here", SESSION)
    make_conversation(source, 5, "there", SESSION)
    make_conversation(source, 6, "next")


def describe(source: UserData, target: UserData, root: Path) -> dict[str, Any]:
    """What became of everything, without the ids that were chosen at random."""
    vault = open_vault(target)
    repos = RepoRegistry(vault).list_all()
    conversations = {
        path.stem: json.loads(path.read_bytes())
        for path in sorted(target.conversations_folder.glob("conversation-*.json"))
    }
    found = {
        "repositories": [(each.name, str(each.path)) for each in repos],
        "keys": dict(vault.query("SELECT name, api_key FROM api_key ORDER BY name")),
        "usage": {
            each.name: UsageLedger(vault).sum_by_model(each.id)[0].input_tokens
            for each in repos
            if UsageLedger(vault).sum_by_model(each.id)
        },
        "indexes": {
            each.name: file.read_text(encoding="utf-8")
            for each in repos
            if (file := target.repo_index_folder(each.id) / "catalogue.db").exists()
        },
        "conversations": {
            name: (each["conversationId"], each["topic"]) for name, each in conversations.items()
        },
        "sessions": {
            name: _describe_session(target, root, each["history"][0]["agent"]["session"])
            for name, each in conversations.items()
            if each["history"][0].get("agent")
        },
        "models": [
            each["name"]
            for each in json.loads(target.settings_file.read_bytes())["conversationSettings"][
                "generationModel"
            ]
        ],
        "marked": json.loads(source.taken_over_file.read_bytes())["into"] == str(target.root),
        "planned": source.merge_plan_file.exists(),
        "kept": open_vault(source).query("SELECT api_key FROM api_key WHERE name = 'model'")[0][0],
    }
    vault.close()
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def _describe_session(target: UserData, root: Path, name: str) -> tuple[str, list[str]]:
    session = AgentSessionStore(target.root).load(name)
    journal = ChangeJournal.from_user_data(target.root, name, WorkspaceRoot.from_path(root))
    return session.transcript.messages[0].content, [each.path for each in journal.changes]


def merge(source: UserData, target: UserData) -> bool:
    vault = open_vault(target)
    try:
        return merge_user_data(source, target, vault, {})
    finally:
        vault.close()


def _kill_before_line(number: int) -> None:
    files = {module.__file__ for module in (merge_module, settings_module, vault_module)}
    lines = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            lines += 1
            if lines == number:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def _run_in_child(work: Any) -> int:
    if pid := os.fork():
        return os.waitpid(pid, 0)[1]
    try:
        work()
        os._exit(0)
    except BaseException as error:  # noqa: BLE001 - for the parent to see
        sys.stderr.write(f"{error!r}\n")
        os._exit(1)


def _is_killed(place: Path, root: Path, number: int) -> bool:
    """Take over, killed before a line, then to the end; say what was found."""
    work = place / "work"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(place / "original", work)
    source, target = UserData(work / "source"), UserData(work / "target")

    def attempt() -> None:
        _kill_before_line(number)
        merge(source, target)

    def say() -> None:
        sys.stdout.write(json.dumps([number, describe(source, target, root)]) + "\n")
        sys.stdout.flush()

    is_killed = _run_in_child(attempt) == signal.SIGKILL
    _run_in_child(lambda: merge(source, target))
    _run_in_child(say)
    return is_killed


def _main(place: Path, first: int, step: int) -> None:
    """Kill before line ``first``, then ``step`` lines later, until there are no more lines."""
    original, root = place / "original", place / "root"
    _run_in_child(
        lambda: make_both(UserData(original / "source"), UserData(original / "target"), root)
    )
    while _is_killed(place, root, first):
        first += step


if __name__ == "__main__":
    os.environ.update(ENVIRON)
    _main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
