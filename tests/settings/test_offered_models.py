"""Models that a terminal offers beside those of the settings."""

import pytest
from codekernel.domain.settings import GenerationModel, Settings
from codekernel.errors import ApiKeyNotFound
from codekernel.settings.offered_models import MAX_OFFERED_MODELS, OfferedModels

MINE = GenerationModel("mine", "m-1", "http://h/v1", needs_key=False)
OFFERED = GenerationModel("gpt", "gpt", "http://h/v1", needs_key=False)


def test_an_offered_model_comes_behind_those_of_the_settings() -> None:
    offered = OfferedModels()
    settings = Settings(generation_models=(MINE,))
    assert offered.extend(settings) is settings
    offered.add(OFFERED, "sk-1")
    assert offered.extend(settings).generation_models == (MINE, OFFERED)


def test_the_settings_win_by_name_with_their_own_key() -> None:
    offered = OfferedModels()
    offered.add(OFFERED, "sk-offered")
    settings = Settings(generation_models=(OFFERED,))
    assert offered.extend(settings).generation_models == (OFFERED,)
    find_key = offered.make_key_finder(lambda: settings, lambda _: "sk-stored")
    assert find_key("gpt") == "sk-stored"


def test_the_key_is_the_offered_one_and_others_are_looked_up() -> None:
    def find_stored(name: str) -> str:
        raise ApiKeyNotFound(name)

    offered = OfferedModels()
    offered.add(OFFERED, "sk-1")
    offered.add(OFFERED, "sk-2")
    find_key = offered.make_key_finder(Settings, find_stored)
    assert find_key("gpt") == "sk-2"
    with pytest.raises(ApiKeyNotFound):
        find_key("other")


def test_the_oldest_of_too_many_is_forgotten() -> None:
    offered = OfferedModels()
    for number in range(MAX_OFFERED_MODELS + 1):
        offered.add(GenerationModel(str(number), "m", "http://h", needs_key=False), "")
    names = [model.name for model in offered.extend(Settings()).generation_models]
    assert (len(names), names[0]) == (MAX_OFFERED_MODELS, "1")
