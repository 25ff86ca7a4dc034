"""From the url a person typed to the url a chat request is posted to, and how it is spoken to."""

from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from kernel.errors import WrongParam

CHAT_PATH = "/chat/completions"
OLLAMA_PATH = "/api/chat"
OLLAMA_PORT = 11434
LONGEST_HOST_LABEL = 63  # of DNS; a longer one breaks name resolution instead of failing it


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """Where a model is asked, and under which name."""

    url: str
    model_name: str
    api_key: str = field(repr=False)


def chat_url(url: str) -> str:
    """Return ``url`` itself if it is a full endpoint, else with ``/chat/completions`` appended.

    No sentence raised here quotes the url: people paste keys into the wrong field.
    """
    parts = _checked(url)
    base = parts.path.rstrip("/")
    if base.endswith(CHAT_PATH):
        return url
    return parts._replace(path=base + CHAT_PATH).geturl()


def ollama_url(url: str) -> str | None:
    """Return where Ollama's own API is asked, if ``url`` means that one; else None.

    Ollama's port serves OpenAI's API too, under /v1. A path /api alone means nothing: other
    servers have their OpenAI-compatible API there.
    """
    parts = _checked(url)
    base = parts.path.rstrip("/")
    if base.endswith(OLLAMA_PATH):
        return url
    if parts.port == OLLAMA_PORT and base in {"", "/api"}:
        return parts._replace(path=OLLAMA_PATH).geturl()
    return None


def _checked(url: str) -> SplitResult:
    if not url.isprintable() or " " in url or "\\" in url:
        raise WrongParam(
            "The url contains a space, a backslash or an invisible character; remove it."
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise WrongParam("The url has a host or a port that cannot exist; check both.") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise WrongParam(
            "The url must begin with http:// or https:// and name a host, "
            "such as https://api.example.com/v1."
        )
    if "@" in parts.netloc:
        # It would replace the Authorization header, and settings are no place for a secret.
        raise WrongParam("The url contains a user name or password; put the key in its own field.")
    if port == 0 or not _is_host_name(parts.hostname):
        raise WrongParam("The url has a host or a port that cannot exist; check both.")
    return parts


def _is_host_name(host: str) -> bool:
    labels = host.removesuffix(".").split(".")
    return all(0 < len(label) <= LONGEST_HOST_LABEL for label in labels)
