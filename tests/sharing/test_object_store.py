"""A store lists, reads, writes and deletes; what fails is told in words, within its time."""

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from codekernel.sharing.object_store import (
    ObjectMissing,
    ObjectStore,
    StorePlace,
    StoreUnavailable,
)
from support.loopback_server import LoopbackServer

KEY = "key:secret"


def open_folder(folder: Path) -> ObjectStore:
    return ObjectStore(StorePlace(str(folder)), {})


def test_an_object_is_listed_read_and_deleted(tmp_path: Path) -> None:
    store = open_folder(tmp_path)
    store.write("a/b/one", b"0123456789")
    store.write("a/two", b"x")
    (one,) = store.list_objects("a/b/")
    assert (one.name, one.size) == ("a/b/one", 10)
    assert store.read_ranges("a/b/one", [(0, 2), (5, 9)]) == [b"01", b"5678"]
    assert store.read("a/two") == b"x"
    store.delete("a/two")
    store.delete("a/two")
    with pytest.raises(ObjectMissing):
        store.read("a/two")
    assert store.list_objects("none/") == []


def test_a_folder_that_is_not_mounted_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="no such folder; is it mounted"):
        open_folder(tmp_path / "mnt").write("a", b"x")
    assert not (tmp_path / "mnt").exists()


def test_what_was_being_written_when_a_writer_was_killed_is_not_listed(tmp_path: Path) -> None:
    store = open_folder(tmp_path)
    store.write("a/one", b"x")
    (tmp_path / "a" / "two#1").write_bytes(b"half")  # as the library names what it writes
    assert [each.name for each in store.list_objects("a/")] == ["a/one"]


@pytest.mark.skipif(
    sys.platform == "win32" or not hasattr(os, "mkfifo"), reason="pipes have no names there"
)
def test_a_folder_that_hangs_does_not_hang_its_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "stuck")  # opening it waits for a writer, as a dead network drive does
    with pytest.raises(StoreUnavailable, match="has not answered within the time it has"):
        open_folder(tmp_path).read("stuck", timeout_seconds=0.2)
    os.close(os.open(tmp_path / "stuck", os.O_RDWR | os.O_NONBLOCK))  # lets the thread go on


@contextmanager
def serve(status: int, body: str) -> Iterator[str]:
    """A server that answers everything as S3 answers when something is wrong."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", '"1"')
            self.end_headers()
            self.wfile.write(body.encode())

        do_GET = do_PUT = do_DELETE = answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    with LoopbackServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "SignatureDoesNotMatch", "the secret key is wrong"),
        (403, "InvalidAccessKeyId", "does not know the access key"),
        (403, "RequestTimeTooSkewed", "the clock of this machine is wrong"),
        (403, "AccessDenied", "no right"),
        (403, "QuotaExceeded", "it is full"),
        (404, "NoSuchBucket", "there is no such bucket"),
        (400, "ExpiredToken", "the key has expired"),
        (503, "SlowDown", "too much to do"),
        (507, "InsufficientStorage", "it is full"),
        (500, "InternalError", "it fails by itself"),
    ],
)
def test_each_answer_of_a_bucket_is_explained(status: int, code: str, words: str) -> None:
    with serve(status, f"<?xml version='1.0'?><Error><Code>{code}</Code></Error>") as endpoint:
        store = ObjectStore(StorePlace("s3://team", endpoint, credentials=KEY), {})
        with pytest.raises(StoreUnavailable, match=f"s3://team cannot be used: .*{words}"):
            store.list_objects("a/")
        with pytest.raises(StoreUnavailable, match=words):
            store.write("a", b"x")


def test_no_secret_is_told(tmp_path: Path) -> None:
    del tmp_path
    with serve(418, "teapot") as endpoint:
        store = ObjectStore(StorePlace("s3://team", endpoint, credentials="id:SECRET"), {})
        with pytest.raises(StoreUnavailable) as told:
            store.write("a", b"x")
    assert "SECRET" not in str(told.value)


def test_an_address_where_nothing_answers_is_explained() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}"
        store = ObjectStore(StorePlace("s3://team", endpoint, credentials=KEY), {})
        with pytest.raises(StoreUnavailable, match="nothing answers at its address"):
            store.list_objects("a/")


def test_a_server_that_accepts_and_is_silent_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        store = ObjectStore(StorePlace("s3://team", endpoint, credentials=KEY), {})
        with pytest.raises(StoreUnavailable, match="has not answered within"):
            store.list_objects("a/", timeout_seconds=0.3)


@pytest.mark.parametrize("address", ["s3://team", "gs://team", "az://team"])
def test_without_a_key_no_host_is_asked_for_one(address: str, tmp_path: Path) -> None:
    store = ObjectStore(StorePlace(address), {"HOME": str(tmp_path)})
    with pytest.raises(StoreUnavailable, match="there is no key for it"):
        store.list_objects("a/")


def test_the_keys_of_an_aws_profile_are_used(tmp_path: Path) -> None:
    folder = tmp_path / ".aws"
    folder.mkdir()
    lines = "[default]\n[work]\naws_access_key_id = work-id\naws_secret_access_key = s\n"
    (folder / "credentials").write_text(lines, encoding="utf-8")
    with serve(403, "<Error><Code>InvalidAccessKeyId</Code></Error>") as endpoint:
        home = {"HOME": str(tmp_path)}
        with pytest.raises(StoreUnavailable, match="there is no key for it"):
            ObjectStore(StorePlace("s3://team", endpoint), home).list_objects("a/")
        work = {**home, "AWS_PROFILE": "work"}
        with pytest.raises(StoreUnavailable, match="does not know the access key"):
            ObjectStore(StorePlace("s3://team", endpoint), work).list_objects("a/")


@pytest.mark.parametrize("address", ["s3://team", "az://team"])
def test_credentials_of_the_vault_without_a_colon_are_explained(address: str) -> None:
    store = ObjectStore(StorePlace(address, credentials="onlyone"), {})
    with pytest.raises(StoreUnavailable, match="with a colon between them"):
        store.list_objects("a/")
