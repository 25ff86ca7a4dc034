"""Remote embedding by the real server of llama.cpp, on 127.0.0.1 with a small real model."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import RemoteModel
from codekernel.remote.remote_models import RemoteModels
from codekernel.sharing.object_store import ObjectStore, StorePlace
from codekernel.sharing.served_models import ServedModels
from codekernel.sharing.vector_pack import TeamSecret
from codekernel.storage.user_data import UserData
from support.llama_server import run_llama_server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with run_llama_server() as address:
        yield address


def test_a_real_server_embeds_documents_and_queries(url: str, tmp_path: Path) -> None:
    model = RemoteModel("smol", f"{url}/v1", "local", batch_size=4, concurrency=2)
    texts = [f"def parse_{number}(line): return line.split({number})" for number in range(9)]
    store = tmp_path / "store"
    store.mkdir()
    opened, secret = ObjectStore(StorePlace(str(store)), {}), TeamSecret.from_salt("a team's salt")

    def open_models(name: str) -> RemoteModels:
        notes = ServedModels(opened, secret, name.encode().hex().rjust(16, "0"))
        return RemoteModels(UserData(tmp_path / name), lambda _: "", lambda: notes)

    with open_models("ann").acquire_embedder(model) as embedder:
        vectors = embedder.embed_documents([*texts, "word " * 3000], CancelToken())
        query = embedder.embed_query(texts[3])
        again = embedder.embed_documents([texts[3]], CancelToken())
        fingerprint = embedder.fingerprint
    assert vectors.shape == (10, embedder.dimensions)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-4)
    assert int(np.argmax(vectors @ query)) == 3
    assert float(again[0] @ vectors[3]) > 0.999
    with open_models("bob").acquire_embedder(model) as other:
        assert other.fingerprint == fingerprint, "a team mate calls it the same"
