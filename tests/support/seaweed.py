"""SeaweedFS as the S3 store of a team: on loopback, signed requests, ports of its own."""

import json
import os
import signal
import socket
import subprocess
import sysconfig
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from codekernel.sharing.object_store import ObjectStore, StorePlace, StoreUnavailable

from support.polling import wait_until

BUCKET = "team"
WRITER, READER = "writer-key:writer-secret", "reader-key:reader-secret"
START_TIMEOUT_SECONDS = 60.0
STARTS = 5  # a port may be taken between finding and using it

_PORTS = {
    "-master.port": "-master.port.grpc",
    "-volume.port": "-volume.port.grpc",
    "-filer.port": "-filer.port.grpc",
    "-s3.port": "-s3.port.grpc",
}


class Seaweed:
    """A running server; ``options`` are further ones of ``weed server``."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.endpoint = ""

    def __enter__(self) -> Self:
        for _ in range(STARTS):
            try:
                self._start()
            except ChildProcessError:
                continue
            except BaseException:
                self.__exit__()
                raise
            return self
        raise AssertionError(self._read_log())

    def __exit__(self, *_: object) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()

    def open_store(
        self, credentials: str = WRITER, bucket: str = BUCKET, endpoint: str = ""
    ) -> ObjectStore:
        place = StorePlace(f"s3://{bucket}/ck", endpoint or self.endpoint, credentials=credentials)
        return ObjectStore(place, {})

    def suspend(self) -> None:
        """Stop answering, as a machine that hangs."""
        assert self._process
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self._process
        self._process.send_signal(signal.SIGCONT)

    def _start(self) -> None:
        self._folder.mkdir(exist_ok=True)
        config = self._folder / "s3.json"
        config.write_text(json.dumps({"identities": [_identity(WRITER), _identity(READER)]}))
        ports = _find_free_ports(2 * len(_PORTS))
        flags = [f"{name}={ports.pop()}" for pair in _PORTS.items() for name in pair]
        self.endpoint = f"http://127.0.0.1:{dict(flag.split('=') for flag in flags)['-s3.port']}"
        (self._folder / "data").mkdir(exist_ok=True)
        with (self._folder / "weed.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    str(Path(sysconfig.get_path("scripts")) / "weed"),
                    *("server", f"-dir={self._folder / 'data'}", "-ip=127.0.0.1"),
                    *("-ip.bind=127.0.0.1", "-master.telemetry=false", "-filer", "-s3"),
                    *("-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.config={config}"),
                    *("-master.volumeSizeLimitMB=64", *flags, *self._options),
                ],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env={**os.environ, "HOME": str(self._folder)},
            )
        self._wait_until_it_answers()

    def _wait_until_it_answers(self) -> None:
        assert self._process
        store = self.open_store()
        process = self._process

        def is_answered() -> bool:
            if process.poll() is not None:
                raise ChildProcessError("ended")
            with suppress(StoreUnavailable):
                store.write("ready", b"1")  # makes the bucket
                return True
            return False

        wait_until(is_answered, self._read_log, START_TIMEOUT_SECONDS)

    def _read_log(self) -> str:
        return (self._folder / "weed.log").read_text(errors="replace")[-4000:]


def _identity(credentials: str) -> dict[str, object]:
    key, secret = credentials.split(":")
    actions = ["Admin", "Read", "Write", "List"] if credentials == WRITER else ["Read", "List"]
    return {
        "name": key,
        "credentials": [{"accessKey": key, "secretKey": secret}],
        "actions": actions,
    }


def _find_free_ports(count: int) -> list[int]:
    with ExitStack() as taken:
        sockets = [taken.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
