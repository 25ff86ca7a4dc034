"""Search and questions from a chat, without an agent: Markdown for an answer."""

import time
import uuid
from pathlib import Path
from typing import Any

from codekernel.adapters.indexed_repository import BUSY_STATES, POLL_INTERVAL_SECONDS
from codekernel.client.connection import KernelConnection
from codekernel.client.launcher import connect_to_kernel
from codekernel.client.relay import Connect
from codekernel.errors import RefusedByKernel
from codekernel.masking.masker import mask_secrets
from codekernel.settings.loading import load_settings_file
from codekernel.settings.local_models import build_default_settings, choose_model
from codekernel.storage.user_data import UserData

_SESSION_ID = 1

# More are not read on a telephone.
MAX_SEARCH_RESULTS = 5

# A first index of some thousand files is made in that time; a person waits no longer.
INDEX_TIMEOUT_SECONDS = 20.0

# Lines of each result; the path says where the rest is.
MAX_EXCERPT_LINES = 12


class RepositoryQueries:
    """Asks the kernel of this machine; each query is a client of its own."""

    def __init__(self, user_data: UserData, connect: Connect = connect_to_kernel) -> None:
        self._user_data = user_data
        self._connect = connect

    def search(self, folder: str, query: str) -> str:
        """Return the best results as Markdown. Raises KernelError."""
        with self._open(folder) as kernel:
            is_complete = _wait_for_index(kernel)
            fields = {"query": query, "limit": MAX_SEARCH_RESULTS}
            found = kernel.request("search", fields, _SESSION_ID)
        results = [_format_result(result) for result in found["results"]]
        text = mask_secrets("\n\n".join(results) or "Nothing was found.").text
        return text if is_complete else f"{text}\n\nThe index is still being made: ask again later."

    def ask(self, folder: str, question: str) -> str:
        """Return the answer of the chat model as Markdown. Raises KernelError."""
        file = self._user_data.settings_file
        settings = load_settings_file(file)[0] if file.exists() else build_default_settings()
        fields = {
            "conversationId": time.time_ns() // 1_000_000,
            "modelName": choose_model(settings, None),
            "query": question,
            "turnKey": str(uuid.uuid4()),
        }
        answer: list[str] = []
        with self._open(folder) as kernel:
            _wait_for_index(kernel)
            asked = kernel.post("beginConversation", fields, _SESSION_ID)
            for part in kernel.iterate_turn(asked):
                if isinstance(part, RefusedByKernel):
                    answer.append(f"\n\n{part}")
                elif part["type"] == "answer":
                    answer.append(part["content"])
        return mask_secrets("".join(answer).strip() or "There was no answer.").text

    def _open(self, folder: str) -> KernelConnection:
        kernel = KernelConnection.open(self._user_data.root, "chat", connect=self._connect)
        place = {"path": str(Path(folder)), "sessionId": _SESSION_ID, "keep": False}
        kernel.request("openFolder", place)
        return kernel


def _wait_for_index(kernel: KernelConnection) -> bool:
    """Wait until the words of all files are indexed; false if that takes too long."""
    ends_at = time.monotonic() + INDEX_TIMEOUT_SECONDS
    while kernel.request("getIndexStatus", {}, _SESSION_ID)["state"] in BUSY_STATES:
        if time.monotonic() > ends_at:
            return False
        time.sleep(POLL_INTERVAL_SECONDS)
    return True


def _format_result(result: dict[str, Any]) -> str:
    lines = result["content"].splitlines()
    excerpt = "\n".join(lines[:MAX_EXCERPT_LINES])
    rest = len(lines) - MAX_EXCERPT_LINES
    more = f"\n… {rest} more lines" if rest > 0 else ""
    fence = "```" if "```" not in excerpt else "~~~~"
    place = f"`{result['filePath']}:{result['beginLine'] + 1}`"
    return f"{place}\n{fence}{result.get('language', '')}\n{excerpt}\n{fence}{more}"
