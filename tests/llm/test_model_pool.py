from dataclasses import replace
from pathlib import Path

import pytest
from codekernel.domain.settings import GenerationModel, LocalModel, ModelKind, Settings
from codekernel.errors import ApiKeyNotFound, NetworkError
from codekernel.llm.model_pool import ChatModelPool, ModelChoice
from support.conversation_world import ScriptedModel

FAST = GenerationModel("fast", "small-1", "http://127.0.0.1/v1", needs_key=False)
PAID = GenerationModel("paid", "large-1", "http://127.0.0.1/v1", needs_key=True)
LOCAL = LocalModel("mine", Path("/models/mine"), ModelKind.GENERATION)
EMBEDDER = LocalModel("embedder", Path("/models/embedder"), ModelKind.EMBEDDING)


class PoolFixture:
    def __init__(self) -> None:
        self.settings = Settings(generation_models=(FAST, PAID), local_models=(LOCAL, EMBEDDER))
        self.keys: dict[str, str] = {}
        self.opened: list[tuple[object, ...]] = []
        self.backends: list[ScriptedModel] = []
        self.models = ChatModelPool(lambda: self.settings, self.key, self.open)

    def key(self, name: str) -> str:
        if name not in self.keys:
            raise ApiKeyNotFound(name)
        return self.keys[name]

    def open(self, choice: ModelChoice) -> ScriptedModel:
        _, key = choice.remote or ("", "")
        self.opened.append((choice.name, choice.local[0] if choice.local else key))
        self.backends.append(ScriptedModel([]))
        return self.backends[-1]


def test_a_model_is_found_by_its_name_then_its_endpoints_name_then_among_local_ones() -> None:
    pool = PoolFixture()
    assert pool.models.find_model("fast").model_name == "small-1"
    assert pool.models.find_model("small-1").name == "fast"
    with pool.models.acquire(pool.models.find_model("mine")):
        assert pool.opened == [("mine", LOCAL.path)]
    with pytest.raises(NetworkError, match='"fast", "paid", "mine"'):
        pool.models.find_model("embedder")


def test_a_key_is_demanded_where_the_settings_say_so_and_used_where_there_is_one() -> None:
    pool = PoolFixture()
    with pytest.raises(NetworkError, match="API key"):
        pool.models.find_model("paid")
    pool.keys = {"paid": "sk-1", "fast": "sk-2"}
    for name in ("paid", "fast"):
        with pool.models.acquire(pool.models.find_model(name)):
            pass
    assert pool.opened == [("paid", "sk-1"), ("fast", "sk-2")]
    assert "sk-1" not in repr(pool.models.find_model("paid"))
    pool.settings = Settings(generation_models=(replace(FAST, url=""),))
    with pytest.raises(NetworkError, match="no url"):
        pool.models.find_model("fast")


def test_a_model_stays_open_until_it_is_replaced_and_unused() -> None:
    pool = PoolFixture()
    for _ in range(3):
        with pool.models.acquire(pool.models.find_model("fast")):
            pass
    assert len(pool.backends) == 1
    with pool.models.acquire(pool.models.find_model("fast")):
        pool.keys["fast"] = "sk-new"
        with pool.models.acquire(pool.models.find_model("fast")):
            assert len(pool.backends) == 2
        assert pool.backends[0].closed == 0
    assert [backend.closed for backend in pool.backends] == [1, 0]
    pool.models.close()
    assert [backend.closed for backend in pool.backends] == [1, 1]
