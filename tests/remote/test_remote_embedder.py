"""A remote embedding model, with servers that do what servers do on a bad day."""

import base64
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import RemoteModel
from codekernel.errors import ApiKeyNotFound, Cancelled, NetworkError
from codekernel.llm.model_endpoint import ModelEndpoint
from codekernel.remote.identity import PROBE_TEXTS, IdentityStore
from codekernel.remote.remote_embedder import (
    EMBEDDINGS_PATH,
    RemoteEmbedder,
    RemoteModelChanged,
)
from codekernel.remote.remote_models import RemoteModels
from codekernel.sharing.object_store import ObjectStore, StorePlace
from codekernel.sharing.served_models import ServedModels
from codekernel.sharing.vector_pack import TeamSecret
from codekernel.storage.user_data import UserData
from support.embedding_server import EmbeddingServer, embedding_server

TEXTS = [f"def parse_{number}(line): return line.split({number})" for number in range(40)]
QUICK_BACKOFF = (0.01, 0.01)
LONG_SECONDS = 60.0


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as serving:
        yield serving


Open = Callable[..., RemoteEmbedder]


@pytest.fixture
def open_embedder(server: EmbeddingServer, tmp_path: Path) -> Iterator[Open]:
    """Opens embedders of the server; all of them are closed at the end."""
    opened = ExitStack()

    def open_it(query_timeout_seconds: float = LONG_SECONDS, **facts: Any) -> RemoteEmbedder:
        facts = {"batch_size": 8, "concurrency": 3} | facts
        model = RemoteModel("mine", server.url, "words", **facts)
        endpoint = ModelEndpoint(model.url, EMBEDDINGS_PATH, lambda: "", QUICK_BACKOFF)
        embedder = RemoteEmbedder(
            model,
            endpoint,
            IdentityStore(tmp_path / "models.json"),
            query_timeout_seconds=query_timeout_seconds,
        )
        opened.callback(embedder.close)
        return embedder

    yield open_it
    opened.close()


def unit(vector: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(vector / np.linalg.norm(vector))


def check_vectors(server: EmbeddingServer, texts: list[str], vectors: Any) -> None:
    expected = np.array([unit(server.embed(text)) for text in texts])
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_each_text_gets_its_own_vector_over_several_requests_at_once(
    server: EmbeddingServer, open_embedder: Open
) -> None:
    embedder = open_embedder()
    server.delay_seconds = 0.05
    vectors = embedder.embed_documents(TEXTS, CancelToken())
    check_vectors(server, TEXTS, vectors)
    assert max(len(each["input"]) for each in server.requests) == 8
    assert server.most_running == 3
    assert embedder.dimensions == 32


def test_vectors_in_another_order_are_put_in_their_places(
    server: EmbeddingServer, open_embedder: Open
) -> None:
    shuffled = random.Random(7)  # noqa: S311 - no secret

    def shuffle(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return shuffled.sample(data, len(data))

    embedder = open_embedder()
    server.spoil = shuffle
    check_vectors(server, TEXTS, embedder.embed_documents(TEXTS, CancelToken()))


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda data: data[:-1], "answered with 7 vectors"),
        (lambda data: [{**each, "index": 0} for each in data], "name one text twice"),
        (lambda data: [{**each, "embedding": "%%%"} for each in data], "no vector"),
        (lambda data: [{**each, "embedding": [None] * 32} for each in data], "not finite"),
    ],
)
def test_half_an_answer_or_a_wrong_one_is_an_error_and_never_a_vector(
    server: EmbeddingServer, open_embedder: Open, spoil: Any, reason: str
) -> None:
    embedder = open_embedder()
    server.spoil = lambda data: spoil(data) if len(data) == 8 else data
    with pytest.raises(NetworkError, match=reason):
        embedder.embed_documents(TEXTS, CancelToken())


def test_vectors_of_another_length_mean_another_model(
    server: EmbeddingServer, open_embedder: Open
) -> None:
    embedder = open_embedder()
    server.dimensions = 16
    with pytest.raises(RemoteModelChanged, match="16 dimensions"):
        embedder.embed_documents(TEXTS, CancelToken())
    with pytest.raises(RemoteModelChanged):
        embedder.embed_query("parse")


def test_another_model_of_the_same_length_is_noticed_after_the_endpoint_was_away(
    server: EmbeddingServer, open_embedder: Open
) -> None:
    embedder = open_embedder()
    server.intercept = lambda _: (503, {"error": {"message": "loading"}}, {})
    with pytest.raises(NetworkError):
        embedder.embed_documents(TEXTS, CancelToken())
    server.intercept, server.seed = lambda _: None, "another model"
    with pytest.raises(RemoteModelChanged, match="another model"):
        embedder.embed_documents(TEXTS, CancelToken())
    assert open_embedder().fingerprint != embedder.fingerprint


def test_a_model_keeps_its_name_in_spite_of_noise(
    server: EmbeddingServer, open_embedder: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_embedder().fingerprint
    plain, noise = server.embed, np.random.default_rng(3)

    def embed(text: str) -> Any:  # as an accelerator would
        return plain(text) * (1 + noise.normal(0, 1e-3, server.dimensions)).astype(np.float32)

    monkeypatch.setattr(server, "embed", embed)
    assert open_embedder().fingerprint == first


def test_overload_is_waited_out(server: EmbeddingServer, open_embedder: Open) -> None:
    embedder = open_embedder()
    refusals = [(429, {"error": {"message": "slow down"}}, {"Retry-After": "0.05"})] * 4

    def refuse(_: object) -> Any:
        with server.lock:
            return refusals.pop() if refusals else None

    server.intercept = refuse
    check_vectors(server, TEXTS, embedder.embed_documents(TEXTS, CancelToken()))
    assert not refusals


def test_a_batch_that_is_too_large_is_sent_in_parts(
    server: EmbeddingServer, open_embedder: Open
) -> None:
    embedder = open_embedder(batch_size=32)

    def refuse(request: dict[str, Any]) -> Any:
        if len(request["input"]) > 5:
            return 422, {"error": "batch size 32 > maximum allowed batch size 5"}, {}
        return None

    server.intercept = refuse
    check_vectors(server, TEXTS, embedder.embed_documents(TEXTS, CancelToken()))
    server.requests.clear()
    embedder.embed_documents(TEXTS, CancelToken())
    assert max(len(each["input"]) for each in server.requests) <= 5, "it has learnt the limit"


def test_a_text_that_is_too_long_for_the_model_is_shortened(
    server: EmbeddingServer, open_embedder: Open
) -> None:
    embedder = open_embedder()

    def refuse(request: dict[str, Any]) -> Any:
        if any(len(text) > 1000 for text in request["input"]):
            return 500, {"error": {"message": "input is too large to process"}}, {}
        return None

    server.intercept = refuse
    texts = [*TEXTS, "word " * 700]
    vectors = embedder.embed_documents(texts, CancelToken())
    check_vectors(server, TEXTS, vectors[:-1])
    assert vectors[-1] @ unit(server.embed("word")) > 0.99


def test_a_server_without_base64_is_asked_for_numbers(
    server: EmbeddingServer, open_embedder: Open
) -> None:
    def refuse(request: dict[str, Any]) -> Any:
        if "encoding_format" in request:
            return 400, {"error": "unknown field encoding_format"}, {}
        return None

    server.intercept = refuse
    embedder = open_embedder()
    check_vectors(server, TEXTS, embedder.embed_documents(TEXTS, CancelToken()))


def test_a_wrong_key_or_model_is_named(server: EmbeddingServer, open_embedder: Open) -> None:
    embedder = open_embedder()
    server.intercept = lambda _: (401, {"error": {"message": "bad"}}, {})
    with pytest.raises(NetworkError, match="refused the key"):
        embedder.embed_documents(TEXTS, CancelToken())
    server.intercept = lambda _: (404, {"error": {"message": "model not found"}}, {})
    with pytest.raises(NetworkError, match="does not know this"):
        embedder.embed_documents(TEXTS, CancelToken())


def test_work_can_be_stopped_while_the_server_thinks(
    server: EmbeddingServer, open_embedder: Open
) -> None:
    embedder = open_embedder()
    cancel, may_answer = CancelToken(), threading.Event()

    def think(_: object) -> None:
        cancel.cancel()
        may_answer.wait(60)

    server.intercept = think
    with pytest.raises(Cancelled):
        embedder.embed_documents(TEXTS, cancel)
    assert not may_answer.is_set()
    may_answer.set()


def test_a_query_has_a_deadline_and_the_next_ones_do_not_wait_again(
    server: EmbeddingServer, open_embedder: Open
) -> None:
    embedder = open_embedder(query_timeout_seconds=0.05)
    server.delay_seconds = 2
    with pytest.raises(NetworkError, match="did not answer in time"):
        embedder.embed_query("where is it parsed")
    asked = len(server.requests)
    with pytest.raises(NetworkError, match="did not answer in time"):
        embedder.embed_query("another one")
    assert len(server.requests) == asked


def test_the_same_query_is_sent_once(server: EmbeddingServer, open_embedder: Open) -> None:
    embedder = open_embedder()
    asked = len(server.requests)
    first = embedder.embed_query("where is it parsed")
    np.testing.assert_array_equal(embedder.embed_query("where is it parsed"), first)
    assert len(server.requests) == asked + 1


def test_secrets_are_masked_in_texts_and_queries(
    server: EmbeddingServer, open_embedder: Open
) -> None:
    embedder = open_embedder()
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    embedder.embed_documents([f'TOKEN = "{key}"'], CancelToken())
    embedder.embed_query(f"what is {key}")
    assert not [text for text in server.texts if key in text]
    assert [text for text in server.texts if "[masked:" in text]


def test_families_that_need_prefixes_get_them(server: EmbeddingServer, tmp_path: Path) -> None:
    model = RemoteModel("mine", server.url, "intfloat/multilingual-e5-small")
    models = RemoteModels(UserData(tmp_path), lambda _: "")
    with models.acquire_embedder(model) as embedder:
        embedder.embed_documents(["a text"], CancelToken())
        embedder.embed_query("a question")
    assert "passage: a text" in server.texts
    assert "query: a question" in server.texts


def test_the_key_comes_from_the_vault_and_a_missing_one_is_named(
    server: EmbeddingServer, tmp_path: Path
) -> None:
    def refuse(name: str) -> str:
        raise ApiKeyNotFound(name)

    model = RemoteModel("mine", server.url, "words", needs_key=True)
    with RemoteModels(UserData(tmp_path), lambda name: f"key-of-{name}").acquire_embedder(model):
        assert server.keys == ["Bearer key-of-mine"]
    with (
        pytest.raises(NetworkError, match="codekernel key set mine"),
        RemoteModels(UserData(tmp_path / "other"), refuse).acquire_embedder(model),
    ):
        raise NotImplementedError


def test_the_model_seen_last_stands_in_while_the_endpoint_is_away(
    server: EmbeddingServer, open_embedder: Open
) -> None:
    known = open_embedder()
    server.intercept = lambda _: (503, {}, {})
    again = open_embedder()
    assert (again.fingerprint, again.dimensions) == (known.fingerprint, known.dimensions)
    assert server.texts[: len(PROBE_TEXTS)] == list(PROBE_TEXTS)


def add_noise(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Change vectors as a batch of other texts does, by a cosine of .9995."""
    for number, each in enumerate(data):
        vector = np.frombuffer(base64.b64decode(each["embedding"]), np.float32)
        noise = np.random.default_rng(number).standard_normal(len(vector)).astype(np.float32)
        moved = unit(vector) + 0.03 * unit(noise)
        each["embedding"] = base64.b64encode(moved.tobytes()).decode()
    return data


def make_notes(folder: Path, owner: str, salt: str = "a salt of this team") -> ServedModels:
    folder.mkdir(exist_ok=True)
    return ServedModels(ObjectStore(StorePlace(str(folder)), {}), TeamSecret.from_salt(salt), owner)


def identify(server: EmbeddingServer, folder: Path, notes: ServedModels | None) -> str:
    """Return what a machine calls the model, which it has not seen before."""
    models = RemoteModels(UserData(folder), lambda _: "", lambda: notes)
    with models.acquire_embedder(RemoteModel("mine", server.url, "words")) as embedder:
        return embedder.fingerprint


@pytest.mark.slow
def test_team_mates_call_a_model_the_same_though_its_vectors_differ_a_little(
    server: EmbeddingServer, tmp_path: Path
) -> None:
    server.dimensions = 384
    ann = identify(server, tmp_path / "ann", make_notes(tmp_path / "store", "a" * 16))
    server.spoil = add_noise
    assert identify(server, tmp_path / "alone", None) != ann, "the noise is enough to tip a digest"
    bob = make_notes(tmp_path / "store", "b" * 16)
    assert identify(server, tmp_path / "bob", bob) == ann
    assert identify(server, tmp_path / "reads", make_notes(tmp_path / "store", "")) == ann
    stranger = make_notes(tmp_path / "store", "c" * 16, "a salt of another team")
    assert identify(server, tmp_path / "stranger", stranger) != ann


def test_another_model_is_not_taken_for_the_one_that_the_team_knows(
    server: EmbeddingServer, tmp_path: Path
) -> None:
    ann = identify(server, tmp_path / "ann", make_notes(tmp_path / "store", "a" * 16))
    server.seed = "another model"
    assert identify(server, tmp_path / "bob", make_notes(tmp_path / "store", "b" * 16)) != ann


def test_a_model_that_was_known_before_there_was_a_team_is_noted_for_it(
    server: EmbeddingServer, tmp_path: Path
) -> None:
    server.dimensions = 384
    ann = identify(server, tmp_path / "ann", None)
    notes = make_notes(tmp_path / "store", "a" * 16)
    assert identify(server, tmp_path / "ann", notes) == ann
    server.spoil = add_noise
    assert identify(server, tmp_path / "bob", make_notes(tmp_path / "store", "b" * 16)) == ann
    notes.forget()
    assert not list((tmp_path / "store").rglob("a*.json"))


def test_a_damaged_note_is_not_used(server: EmbeddingServer, tmp_path: Path) -> None:
    server.dimensions = 384
    ann = identify(server, tmp_path / "ann", make_notes(tmp_path / "store", "a" * 16))
    (note,) = (tmp_path / "store").rglob("*.json")
    note.write_bytes(note.read_bytes().replace(ann[:8].encode(), b"00000000"))
    server.spoil = add_noise
    assert identify(server, tmp_path / "bob", make_notes(tmp_path / "store", "")) not in {
        ann,
        "00000000" + ann[8:],
    }
