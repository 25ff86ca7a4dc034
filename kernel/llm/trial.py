"""Tries a chat endpoint with the smallest request there is, before anybody saves it."""

from collections.abc import Sequence

import httpx

from kernel.domain.cancel import CancelToken
from kernel.errors import NetworkError, TestFailed, WrongParam
from kernel.llm.answer import Answer, read_answer
from kernel.llm.client import TIMEOUTS, chat_request, make_client
from kernel.llm.deadline import Deadline
from kernel.llm.endpoint import chat_url
from kernel.llm.refusals import not_a_completion, refusal
from kernel.llm.retrying import DEADLINE_SECONDS, RETRY_WAITS, send
from kernel.masking.known_secrets import secrets_of


def try_endpoint(  # noqa: PLR0913 - three facts of the endpoint, and what a test must shorten
    *,
    model_name: str,
    url: str,
    api_key: str,
    cancel: CancelToken,
    waits: Sequence[float] = RETRY_WAITS,
    timeouts: httpx.Timeout = TIMEOUTS,
) -> None:
    """Return if the endpoint completes a chat; else raise TestFailed with the reason."""
    deadline = Deadline.after(DEADLINE_SECONDS)
    payload = {
        "model": model_name,
        "max_tokens": 1,
        "stream": False,
        "messages": [{"role": "user", "content": "Hello"}],
    }
    try:
        endpoint = chat_url(url)
        with make_client(timeouts) as client:
            request = chat_request(client, endpoint, api_key=api_key, payload=payload)
            response = send(client, request, cancel=cancel, deadline=deadline, waits=waits)
            answer = read_answer(response, cancel=cancel, deadline=deadline)
    except (WrongParam, NetworkError) as error:
        raise TestFailed(f"Test failed: {error}") from None
    complaint = _complaint(answer, secrets_of(url, api_key))
    if complaint is not None:
        raise TestFailed(f"Test failed: {complaint}")


def _complaint(answer: Answer, secrets: tuple[str, ...]) -> str | None:
    if answer.status != httpx.codes.OK:
        return refusal(answer, secrets)
    body = answer.json()
    if isinstance(body, dict) and "choices" in body:
        return None
    return not_a_completion(answer, secrets)
