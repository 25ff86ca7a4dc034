import logging
from collections.abc import Iterator

import pytest
import trustme
from codekernel.llm.providers.base import ENDPOINT_CAPABILITIES
from llm.chatting import OPENED
from llm.trying import assert_no_key
from support.environ import Environ

ENVIRONMENT_OF_HTTPX = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUEST_METHOD",  # urllib believes itself in a CGI script and ignores HTTP_PROXY
)


@pytest.fixture(scope="session")
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with an authority that has vouched for nobody."""
    file = tmp_path_factory.mktemp("authority") / "nobodys.pem"
    trustme.CA().cert_pem.write_to_path(str(file))
    return str(file)


@pytest.fixture(autouse=True)
def plain_environment(environ: Environ, one_authority: str) -> None:
    """No proxies; one authority, for to load all the system's takes longer than most tests."""
    for name in ENVIRONMENT_OF_HTTPX:
        environ.pop(name, None)
        environ.pop(name.lower(), None)
    environ["SSL_CERT_FILE"] = one_authority


@pytest.fixture(autouse=True)
def no_log_holds_the_key(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    for record in caplog.get_records("call"):
        assert_no_key(caplog.handler.format(record))


@pytest.fixture(autouse=True)
def nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port is given again, and what its last owner refused must not be believed of the next."""
    ENDPOINT_CAPABILITIES.clear()


@pytest.fixture(autouse=True)
def every_backend_is_closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()
