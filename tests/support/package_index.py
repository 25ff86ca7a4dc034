"""A package index on loopback with small wheels; it can hold back the second half of a file."""

import base64
import hashlib
import io
import os
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from support.loopback_server import LoopbackServer

GATE_TIMEOUT_SECONDS = 240


@dataclass
class PackageIndex:
    """Sends half of each file whose name begins with ``held_prefix`` until ``gate`` is set."""

    files: Mapping[str, bytes]
    url: str = ""
    held_prefix: str = ""
    gate: threading.Event = field(default_factory=threading.Event)
    half_sent: threading.Event = field(default_factory=threading.Event)
    sent_files: list[str] = field(default_factory=list)


def make_wheel(name: str, size: int) -> bytes:
    """Return a wheel of a package with ``size`` bytes that cannot be compressed."""
    info = f"{name}-1.0.dist-info"
    parts = {
        f"{name}.py": b"DATA = 1\n",
        f"{name}.bin": os.urandom(size),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for file, body in parts.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
        record += f"{file},sha256={digest},{len(body)}\n"
    parts[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as wheel:
        for file, body in parts.items():
            wheel.writestr(file, body)
    return content.getvalue()


@contextmanager
def serve_package_index(files: Mapping[str, bytes]) -> Iterator[PackageIndex]:
    """Serve wheels by their file names until the block ends."""
    index = PackageIndex(files)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rstrip("/").rsplit("/", 1)[-1]
            if name in index.files:
                self._send_file(name, index.files[name])
                index.sent_files.append(name)
                return
            found = [each for each in index.files if each.startswith(f"{name}-")]
            page = "".join(f'<a href="/files/{each}">{each}</a>\n' for each in found)
            self._begin(len(page), "text/html")
            self.wfile.write(page.encode())

        def _send_file(self, name: str, content: bytes) -> None:
            self._begin(len(content), "application/octet-stream")
            half = len(content) // 2
            self.wfile.write(content[:half])
            self.wfile.flush()
            if name.startswith(index.held_prefix):
                index.half_sent.set()
                index.gate.wait(GATE_TIMEOUT_SECONDS)
            self.wfile.write(content[half:])

        def _begin(self, length: int, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(length))
            self.send_header("Cache-Control", "max-age=3600")  # as the public index sends it
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            pass

    server = LoopbackServer(("127.0.0.1", 0), Handler)
    index.url = f"http://127.0.0.1:{server.server_address[1]}/simple"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield index
    finally:
        index.gate.set()
        server.shutdown()
        server.server_close()
