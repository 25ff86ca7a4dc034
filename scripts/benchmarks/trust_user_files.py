"""Campaign ``user_files``: damage what lies in userData beside the index; the kernel works on.

Vault, key, settings, conversations, journals, sessions of agents, logs and locks are damaged while
no kernel runs. A kernel that is started then must know its repositories, search, list
conversations, take a key, answer a question and save it, and end cleanly.
"""

import random
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from trust_damages_kinds import damage_something
from trust_result import CampaignResult

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.agent_client import SKIP, AgentClient  # noqa: E402 - the path above is needed
from support.chat_server import ChatServer, reply_calls, reply_text  # noqa: E402
from support.conversation_client import (  # noqa: E402
    SESSION,
    ConversationClient,
    answer_of,
    chat_settings,
    write_sources,
)
from support.index_client import IndexClient  # noqa: E402
from support.kernel_process import KernelProcess, code_of  # noqa: E402

DEFAULT_TRIES = 200
MAX_DAMAGES = 3
LANES = 2
ANSWER = "It closes in `session.py:4-6`."
# Which of its files are in place is drawn; the index has a campaign of its own.
INDEX = "index"


class NotWorking(Exception):
    """Something that must work after any damage did not."""


def run(seed: int, tries: int | None) -> CampaignResult:
    """Damage so often; returns every damage after which something did not work."""
    count = DEFAULT_TRIES if tries is None else tries
    with tempfile.TemporaryDirectory(prefix="codekernel-files-") as name:
        place = Path(name)
        # The first answers make an agent's files; afterwards every question has the same answer.
        with ChatServer([reply_calls(SKIP), reply_text("done"), reply_text(ANSWER)]) as server:
            _make_pristine(place, server.url)
            with ThreadPoolExecutor(LANES) as pool:
                tried = pool.map(lambda number: _try(place, server.url, seed, number), range(count))
                failures = tuple(failure for failure in tried if failure)
    return CampaignResult("user_files", count, failures)


def _make_pristine(place: Path, url: str) -> None:
    """A userData folder with a bit of everything in it."""
    repo, user_data = place / "demo", place / "pristine"
    for folder in (repo, user_data):
        folder.mkdir()
    write_sources(repo)
    chat_settings(user_data, url)
    with KernelProcess(user_data) as kernel:
        kernel.open(repo, SESSION)
        IndexClient(kernel, SESSION).wait_until_idle()
        kernel.request("setApiKey", name="model", apiKey="an invented one")
        asker = ConversationClient(kernel, user_data)
        AgentClient(asker).run_task("Do nothing", 1)
        asker.ask_and_wait("How does a session close?", 2)
        if kernel.stop():
            raise SystemExit("The kernel did not end cleanly before anything was damaged.")


def _try(place: Path, url: str, seed: int, number: int) -> str:
    chance = random.Random(f"{seed}:{number}")  # noqa: S311 - repeatable, not secret
    user_data = place / f"try{number}" / "userData"
    shutil.copytree(place / "pristine", user_data)
    index = shutil.move(user_data / INDEX, user_data.parent / INDEX)
    damages = [damage_something(user_data, chance) for _ in range(chance.randint(1, MAX_DAMAGES))]
    shutil.move(index, user_data / INDEX)
    try:
        _use(user_data, place / "demo", url, is_list_lost=_is_list_lost(damages))
    except (NotWorking, AssertionError) as error:
        return f"seed {seed}, try {number} ({', '.join(damages)}): {str(error)[:400]}"
    finally:
        shutil.rmtree(user_data.parent)
    return ""


def _is_list_lost(damages: list[str]) -> bool:
    """Whether both the vault and the list beside it were hit, or the folder of both."""
    hit = " ".join(damages)
    is_vault_hit = any(name in hit for name in ("db/.db", "db/.key"))
    return (is_vault_hit and "db/.json" in hit) or "folder db/" in hit


def _use(user_data: Path, repo: Path, url: str, *, is_list_lost: bool) -> None:
    with KernelProcess(user_data) as kernel:
        repos = kernel.request("getRepos")
        known = [each["name"] for each in repos["data"]["repoList"]]
        if not is_list_lost and known != [repo.name]:
            raise NotWorking(f"the repositories are {known}")
        kernel.open(repo, SESSION)
        window, asker = IndexClient(kernel, SESSION), ConversationClient(kernel, user_data)
        if "session.py" not in window.search("Session close"):
            raise NotWorking("the search found nothing")
        for request in ("getConversations", "getApiUsage", "getIndexStatus"):
            _demand_success(request, code_of(window.request(request)))
        stored = kernel.request("setApiKey", name="model", apiKey="new")
        _demand_success("setApiKey", code_of(stored))
        _demand_success("getApiKey", code_of(kernel.request("getApiKey", name="model")))
        _ask(asker, window, url)
        if kernel.stop() or "Traceback" in kernel.stderr:
            raise NotWorking(f"it did not end cleanly: {kernel.stderr[-300:]}")


def _ask(asker: ConversationClient, window: IndexClient, url: str) -> None:
    """A question must be answered and kept, unless the damage changed where the chat model is.

    A flipped bit in a url is a url still: settings are a person's to write, without a checksum.
    """
    settings = asker.kernel.request("getSettings")["data"]["settings"]
    models = settings["conversationSettings"]["generationModel"]
    if [(model["name"], model["url"]) for model in models] != [("model", url)]:
        return
    replies = asker.ask_and_wait("How does a session close?", 99)
    if answer_of(replies) != ANSWER:
        raise NotWorking(f"the question got {[line['status'] for line in replies][-3:]}")
    history = window.request("getConversation", conversationId=99)["data"]["history"]
    if [turn["answer"] for turn in history] != [ANSWER]:
        raise NotWorking("the answer was not kept")


def _demand_success(request: str, code: str) -> None:
    if code != "SUCCESS":
        raise NotWorking(f"{request} says {code}")
