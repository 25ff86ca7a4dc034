import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from kernel.settings.box import STATIC, default_settings
from kernel.settings.conversion import file_of, settings_from
from kernel.settings.reading import check


def written(settings: Any) -> Any:
    return json.loads(msgspec.json.encode(file_of(settings)))


def test_settings_that_are_shown_and_saved_again_are_the_same(
    document: Any, write: Callable[[Any], Path], machine: dict[str, Any]
) -> None:
    document["conversationSettings"] |= {"maxRounds": 5, "summarizeHistory": True}
    document["conversationSettings"]["generationModel"][0] |= {
        "inputPrice": 0.5,
        "outputPrice": 2.0,
        "contextTokens": 64_000,
    }
    document["performance"]["pauseOnBattery"] = True
    settings = check(write(document), **machine)
    shown = written(settings)
    assert check(write(shown), **machine) == settings
    assert shown["localModelManagement"] == document["localModelManagement"]
    assert shown["searchSettings"] == document["searchSettings"]


def test_defaults_are_filled_in_and_models_in_the_box_are_not_listed() -> None:
    shown = written(default_settings())
    assert shown["localModelManagement"]["models"] == []
    configs = shown["searchSettings"]["embeddingConfig"]["configs"]
    assert configs[0]["modelName"] == STATIC
    assert shown["conversationSettings"]["maxRounds"] == 3
    assert settings_from(file_of(default_settings())) == default_settings()
