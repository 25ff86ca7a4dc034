"""Says in one sentence why an answer is not the one hoped for: by status, or by what is in it."""

from datetime import UTC, datetime
from urllib.parse import urljoin, urlsplit

from kernel.llm.answer import Answer, one_line, quotation
from kernel.llm.explain import login_wanted
from kernel.llm.retry_after import retry_after_seconds

_PROXY_LOGIN = 407
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_SERVER_ERRORS = range(500, 600)

_TROUBLES = {
    400: ("did not understand the request", "check the model name and the url"),
    401: ("refused the key", "check that the key is right, complete and meant for this host"),
    402: ("wants to be paid first", "check the balance of the account"),
    403: ("refused the key", "check that the key may use this model, and that the url is right"),
    404: ("does not know this url or model", "check the url and the model name"),
    405: ("takes no chat requests at this url", "the url should end in /chat/completions"),
    429: ("has had too many requests, or the quota is used up", "wait, or check the account"),
}


def refusal(answer: Answer, secrets: tuple[str, ...]) -> str:
    """Explain an answer whose status is not 200."""
    if answer.status == _PROXY_LOGIN:
        return login_wanted(answer.route)
    if answer.status in _REDIRECTS:
        return _redirect(answer, secrets)
    if answer.status in _SERVER_ERRORS:
        trouble, advice = "has trouble of its own", "try again later"
    else:
        trouble, advice = _TROUBLES.get(
            answer.status, ("gave an answer that no chat endpoint gives", "check the url")
        )
    advice += _asked_to_wait(answer) + quotation(answer, secrets)
    return f"{who(answer)} {trouble} ({answer.status}): {advice}."


def not_a_completion(answer: Answer, secrets: tuple[str, ...]) -> str:
    """Explain a 200 that holds something else."""
    return (
        f"{who(answer)} answered, but not with a chat completion: "
        f"check that the url is the one of its API{quotation(answer, secrets)}."
    )


def who(answer: Answer) -> str:
    """Name the host, and the proxy that was asked in its stead."""
    proxy = answer.route.proxy
    return (
        answer.route.host
        if proxy is None
        else f"{answer.route.host}, asked through the proxy {proxy},"
    )


def _asked_to_wait(answer: Answer) -> str:
    asked = retry_after_seconds(answer.headers.get("retry-after", ""), datetime.now(UTC))
    return f"; it asks to wait {asked:.0f} seconds" if asked else ""


def _redirect(answer: Answer, secrets: tuple[str, ...]) -> str:
    return (
        f"{who(answer)} sends requests on to {_new_place(answer, secrets)} ({answer.status}), "
        "and a key is not sent along: if that place is right, put it into the url."
    )


def _new_place(answer: Answer, secrets: tuple[str, ...]) -> str:
    here = f"{answer.route.scheme}://{answer.route.host}"
    try:
        there = urlsplit(urljoin(here, answer.headers.get("location", "")))
    except ValueError:
        return "a place that cannot exist"
    host = one_line(there.netloc.rpartition("@")[2], secrets)
    if host != answer.route.host:
        return host
    return "another path" if there.scheme == answer.route.scheme else f"{there.scheme}://{host}"
