from dataclasses import replace
from pathlib import Path

import pytest
from codekernel.domain.settings import GenerationModel, LocalModel, ModelKind, Performance, Settings
from codekernel.errors import ApiKeyNotFound, NetworkError
from codekernel.llm.model_pool import BackendOpeners, ChatModelPool
from support.conversation_world import ScriptedModel

FAST = GenerationModel("fast", "small-1", "http://127.0.0.1/v1", needs_key=False)
PAID = GenerationModel("paid", "large-1", "http://127.0.0.1/v1", needs_key=True)
LOCAL = LocalModel("mine", Path("/models/mine"), ModelKind.GENERATION)
EMBEDDER = LocalModel("embedder", Path("/models/embedder"), ModelKind.EMBEDDING)


class House:
    def __init__(self) -> None:
        self.settings = Settings(generation_models=(FAST, PAID), local_models=(LOCAL, EMBEDDER))
        self.keys: dict[str, str] = {}
        self.opened: list[tuple[object, ...]] = []
        self.backends: list[ScriptedModel] = []
        self.models = ChatModelPool(
            lambda: self.settings, self.key, BackendOpeners(self.open, self.open_local)
        )

    def key(self, name: str) -> str:
        if name not in self.keys:
            raise ApiKeyNotFound(name)
        return self.keys[name]

    def open(self, model: GenerationModel, key: str) -> ScriptedModel:
        return self._open(model.name, key)

    def open_local(self, name: str, path: Path, _: Performance) -> ScriptedModel:
        return self._open(name, path)

    def _open(self, *what: object) -> ScriptedModel:
        self.opened.append(what)
        self.backends.append(ScriptedModel([]))
        return self.backends[-1]


def test_a_model_is_found_by_its_name_then_its_endpoints_name_then_among_local_ones() -> None:
    house = House()
    assert house.models.find_model("fast").model_name == "small-1"
    assert house.models.find_model("small-1").name == "fast"
    with house.models.acquire(house.models.find_model("mine")):
        assert house.opened == [("mine", LOCAL.path)]
    with pytest.raises(NetworkError, match='"fast", "paid", "mine"'):
        house.models.find_model("embedder")


def test_a_key_is_demanded_where_the_settings_say_so_and_used_where_there_is_one() -> None:
    house = House()
    with pytest.raises(NetworkError, match="API key"):
        house.models.find_model("paid")
    house.keys = {"paid": "sk-1", "fast": "sk-2"}
    for name in ("paid", "fast"):
        with house.models.acquire(house.models.find_model(name)):
            pass
    assert house.opened == [("paid", "sk-1"), ("fast", "sk-2")]
    assert "sk-1" not in repr(house.models.find_model("paid"))
    house.settings = Settings(generation_models=(replace(FAST, url=""),))
    with pytest.raises(NetworkError, match="no url"):
        house.models.find_model("fast")


def test_a_model_stays_open_until_it_is_replaced_and_unused() -> None:
    house = House()
    for _ in range(3):
        with house.models.acquire(house.models.find_model("fast")):
            pass
    assert len(house.backends) == 1
    with house.models.acquire(house.models.find_model("fast")):
        house.keys["fast"] = "sk-new"
        with house.models.acquire(house.models.find_model("fast")):
            assert len(house.backends) == 2
        assert house.backends[0].closed == 0
    assert [backend.closed for backend in house.backends] == [1, 0]
    house.models.close()
    assert [backend.closed for backend in house.backends] == [1, 1]
