"""The files of the pages, which need no token, and their headers."""

import pytest
from support.hub_world import DeviceClient


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/agents.webmanifest", "application/manifest+json"),
        ("/agents_worker.js", "text/javascript; charset=utf-8"),
        ("/icons/icon-192.png", "image/png"),
    ],
)
def test_the_files_of_the_page_are_served_with_its_policy(
    phone: DeviceClient, path: str, kind: str
) -> None:
    response = phone.http.get(path, headers={"Authorization": ""})
    assert (response.status_code, response.headers["content-type"]) == (200, kind)
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "manifest-src 'self'" in policy


def test_the_first_page_is_that_of_agent_sessions(phone: DeviceClient) -> None:
    assert "agents/main.js" in phone.http.get("/").text


@pytest.mark.parametrize("path", ["/../pyproject.toml", "/%2e%2e/main.js", "/agents/", "/none.js"])
def test_other_files_are_not_served(phone: DeviceClient, path: str) -> None:
    assert phone.http.get(path).status_code == 404
