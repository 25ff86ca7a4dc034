"""Makes the HTTP client: its time limits, its trust, and its silence about urls."""

import importlib.util
import json
import logging
import os
import ssl
from pathlib import Path
from typing import Any

import httpx

from kernel import __version__
from kernel.errors import NetworkError

# A host that exists accepts within a second or two even across the world; 10 s is also what the
# front end's earlier kernel allowed.
CONNECT_TIMEOUT_SECONDS = 10.0
# Between two pieces of an answer. A large model may think this long before its first token.
READ_TIMEOUT_SECONDS = 30.0
# Requests are small; a peer that does not take one in this time has stopped reading.
WRITE_TIMEOUT_SECONDS = 10.0
# A client serves few requests at a time, so waiting for a free connection means something hangs.
POOL_TIMEOUT_SECONDS = 10.0

TIMEOUTS = httpx.Timeout(
    connect=CONNECT_TIMEOUT_SECONDS,
    read=READ_TIMEOUT_SECONDS,
    write=WRITE_TIMEOUT_SECONDS,
    pool=POOL_TIMEOUT_SECONDS,
)

# Long enough for a person to read an answer and ask again, and shorter than routers and load
# balancers remember a silent connection.
LIMITS = httpx.Limits(max_connections=None, keepalive_expiry=60.0)

# A package of its own, which a distribution of httpx may leave out.
HTTP2_OFFERED = importlib.util.find_spec("h2") is not None

_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


def make_client(
    timeouts: httpx.Timeout = TIMEOUTS,
    *,
    trust: ssl.SSLContext | None = None,
    is_local: bool = False,
) -> httpx.Client:
    """Make a client that honours the proxy and certificate variables of the environment.

    ``trust`` saves loading the authorities again, which takes longer than all the rest. A client
    for a server inside this process asks no proxy.
    """
    for chatty in ("httpx", "httpcore", "h2", "hpack"):
        # They log each url at INFO and each header at DEBUG, and either may hold a key.
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        return httpx.Client(
            timeout=timeouts,
            verify=trust or system_trust(),
            trust_env=not is_local,
            http2=HTTP2_OFFERED,
            limits=LIMITS,
            follow_redirects=False,  # a key must not travel to another host
            headers={"User-Agent": f"codekernel/{__version__}"},
        )
    except (httpx.InvalidURL, ValueError):
        raise NetworkError(
            f"The proxy settings of this machine ({_proxy_variables_set()}) cannot be understood: "
            "write a proxy as http://host:port and NO_PROXY as host names with commas between."
        ) from None


def chat_request(
    client: httpx.Client, url: str, *, api_key: str, payload: dict[str, Any]
) -> httpx.Request:
    """Prepare the POST of ``payload`` to ``url``; an empty key sends no Authorization at all."""
    headers = {b"Content-Type": b"application/json"}
    if api_key:
        headers[b"Authorization"] = b"Bearer " + _header_bytes(api_key)
    # ASCII-only JSON: a model name with half a surrogate pair must not fail in the encoder.
    content = json.dumps(payload).encode()
    try:
        return client.build_request("POST", url, headers=headers, content=content)
    except (httpx.InvalidURL, UnicodeError):  # the latter from the rules of international names
        raise NetworkError("The url names a host that cannot exist; check its spelling.") from None


def _header_bytes(api_key: str) -> bytes:
    if any(ord(character) < ord(" ") or character == "\x7f" for character in api_key):
        what = "a line break or another invisible character"
    elif api_key != api_key.strip():
        what = "a space at its beginning or end"
    else:
        try:
            return api_key.encode("latin-1")
        except UnicodeEncodeError:
            what = "a letter or sign that cannot be sent"
    raise NetworkError(f"The key contains {what}, a character no key has: copy the key again.")


def system_trust() -> ssl.SSLContext:
    """Load the authorities that may vouch for a server: httpx's, the system's, and a company's."""
    folder = os.environ.get("SSL_CERT_DIR")
    if folder and not os.environ.get("SSL_CERT_FILE") and not Path(folder).is_dir():
        # OpenSSL would say nothing and then trust nobody.
        raise NetworkError("SSL_CERT_DIR does not name a folder: correct it, or unset it.")
    try:
        context = httpx.create_ssl_context(trust_env=True)
    except OSError:
        raise NetworkError(
            "SSL_CERT_FILE does not name a readable file of PEM certificates: "
            "correct it, or unset it."
        ) from None
    if not folder and not os.environ.get("SSL_CERT_FILE"):
        # Beside the authorities that come with httpx: a company installs its own in the system.
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    return context


def _proxy_variables_set() -> str:
    names = [
        name for name in _PROXY_VARIABLES for case in (name, name.lower()) if os.environ.get(case)
    ]
    return ", ".join(dict.fromkeys(names)) or "the system's own"
