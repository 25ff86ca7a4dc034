from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from codekernel.settings.live import LiveSettings
from codekernel.settings.loading import list_endpoint_warnings
from codekernel.settings.validation import is_plain_http_to_remote


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example.com/v1",
        "HTTP://API.EXAMPLE.COM",
        "http://192.168.1.5:8080/v1",
        "http://localhost.example.com",
        "http://127.0.0.1.example.com",
        "http://127.0.0.1@example.com/v1",
        "http://[fd00::1]/v1",
    ],
)
def test_plain_http_to_another_machine_is_known(url: str) -> None:
    assert is_plain_http_to_remote(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.com/v1",
        "http://localhost:11434",
        "http://LOCALHOST.:1/",
        "http://model.localhost/v1",
        "http://127.8.8.8/v1",
        "http://[::1]:8080/v1",
        "http://[::ffff:127.0.0.1]/v1",
        "",
        "http://[",
    ],
)
def test_encrypted_addresses_and_this_machine_are_not(url: str) -> None:
    assert not is_plain_http_to_remote(url)


def test_settings_warn_of_a_key_that_would_be_sent_in_plain_text(
    document: Any,
    write: Callable[[Any], Path],
    machine: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = document["conversationSettings"]["generationModel"][0]
    model["url"] = "http://chat.example.com/v1"
    path = write(document)
    (warning,) = list_endpoint_warnings(path, has_key=lambda name: name == "deepseek")
    assert "generationModel[0].url" in warning
    assert "chat.example.com" in warning
    assert list_endpoint_warnings(path, has_key=lambda _: False) == []
    live = LiveSettings(path, path, **machine)
    live.load()
    assert live.log_unmet_requirements() == [warning]
    assert live.check_modified() == live.update() == [warning]
    assert caplog.text.count("chat.example.com") == 2  # at the start, and when they were saved
    model["url"] = "https://chat.example.com/v1"
    write(document)
    assert live.update() == []
