import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from codekernel.settings.loading import check_settings_file, convert_to_file, convert_to_settings
from codekernel.settings.local_models import STATIC_MODEL, build_default_settings


def written(settings: Any) -> Any:
    return json.loads(msgspec.json.encode(convert_to_file(settings)))


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
    settings = check_settings_file(write(document), **machine)
    shown = written(settings)
    assert check_settings_file(write(shown), **machine) == settings
    assert shown["localModelManagement"] == document["localModelManagement"]
    assert shown["searchSettings"] == document["searchSettings"]


def test_defaults_are_filled_in_and_models_in_the_box_are_not_listed() -> None:
    shown = written(build_default_settings())
    assert shown["localModelManagement"]["models"] == []
    configs = shown["searchSettings"]["embeddingConfig"]["configs"]
    assert configs[0]["modelName"] == STATIC_MODEL
    assert shown["conversationSettings"]["maxRounds"] == 3
    assert (
        convert_to_settings(convert_to_file(build_default_settings())) == build_default_settings()
    )
