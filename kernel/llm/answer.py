"""A server's answer, read whole and within limits, and the words in it worth quoting."""

import json
import re
from dataclasses import dataclass
from typing import Any

import httpx

from kernel.domain.cancel import CancelToken
from kernel.domain.safe_json import parse_json
from kernel.errors import NetworkError
from kernel.llm.deadline import Deadline
from kernel.llm.explain import broke_off, stopped, too_slow, unreachable
from kernel.llm.route import Route, route_of
from kernel.masking.known_secrets import redact

# Far more than any error or one-token answer; a download link pasted as url must not fill memory.
LONGEST_BODY_BYTES = 1_000_000
LONGEST_QUOTE = 300

_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_MARKUP_START = re.compile(r"\s*<(!doctype|html|head|body|\?xml)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response whose connection is already closed."""

    status: int
    headers: httpx.Headers
    text: str
    route: Route

    def json(self) -> Any:
        """Parse the body; None if it is no JSON."""
        try:
            return parse_json(self.text)
        except ValueError:
            return None


def read_answer(response: httpx.Response, *, cancel: CancelToken, deadline: Deadline) -> Answer:
    """Read what ``send`` returned and close it; what lies beyond the size limit is dropped."""
    route = route_of(response.request)
    body = bytearray()
    try:
        for part in response.iter_bytes():
            body += part
            if cancel.cancelled:
                raise NetworkError(stopped(route))
            if deadline.seconds_left() <= 0:
                raise NetworkError(too_slow(route))
            if len(body) >= LONGEST_BODY_BYTES:
                break
    except (httpx.RemoteProtocolError, httpx.ReadError):
        raise NetworkError(broke_off(route)) from None
    except httpx.HTTPError as error:
        raise NetworkError(unreachable(error, route)) from None
    finally:
        response.close()
    text = body[:LONGEST_BODY_BYTES].decode("utf-8", errors="replace")
    return Answer(response.status_code, response.headers, text, route)


def quotation(answer: Answer, secrets: tuple[str, ...]) -> str:
    """Quote what the server said, as an end of a sentence; empty if it said nothing."""
    if _MARKUP_START.match(answer.text):
        title = _TITLE.search(answer.text)
        said = one_line(title.group(1), secrets) if title else ""
        return f' (a web page titled "{said}")' if said else " (a web page)"
    said = one_line(_message(answer), secrets)
    return f' (it said: "{said}")' if said else ""


def one_line(text: str, secrets: tuple[str, ...]) -> str:
    """``text`` from a server, fit to be shown: no secrets, no line breaks, not too long."""
    # Cleaned before it is redacted, so that nothing invisible can split a key, and cut last, so
    # that no cut can.
    visible = "".join(
        character for character in text if character.isprintable() or character.isspace()
    )
    clean = redact(" ".join(visible.split()), secrets)
    return clean if len(clean) <= LONGEST_QUOTE else clean[: LONGEST_QUOTE - 1] + "…"


def _message(answer: Answer) -> str:
    body = answer.json()
    if body is None:
        return answer.text
    if isinstance(body, dict):
        error = body.get("error")
        places = (error.get("message") if isinstance(error, dict) else error, body.get("message"))
        for place in (*places, body.get("detail")):
            if isinstance(place, str) and place.strip():
                return place
    # Written anew, because escapes in the original could spell a key.
    return json.dumps(body, ensure_ascii=False)
