"""HTTP responses as bytes; each ends its connection."""

from collections.abc import Mapping
from http import HTTPStatus

TEXT = "text/plain; charset=utf-8"


def render_response(
    status: HTTPStatus, content: bytes, content_type: str, headers: Mapping[str, str] | None = None
) -> bytes:
    """Return a whole response; ``headers`` are those besides type, length and connection."""
    lines = [f"HTTP/1.1 {status.value} {status.phrase}"]
    if content:
        lines.append(f"Content-Type: {content_type}")
    if status is not HTTPStatus.NO_CONTENT:
        lines.append(f"Content-Length: {len(content)}")
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    lines += ["Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1") + content


def render_text(status: HTTPStatus, sentence: str) -> bytes:
    """Return a response for a program: one line of text, not to be cached."""
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return render_response(status, f"{sentence}\n".encode(), TEXT, headers)
