"""Source files inside package archives: wheels, npm tarballs, .deb files, source tarballs."""

import hashlib
import io
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from static_text import LANGUAGES

MAX_FILE = 200_000  # beyond this it is data, a bundle or an amalgamation
MAX_LINE = 500  # minified or generated

# The repositories of the retrieval benchmark. Packages carry vendored copies (pip has requests), so
# a path with one of these names in it is left out, whatever package it is in.
BENCHMARK = frozenset(
    [
        "bash-it",
        "nvm",
        "curl",
        "abseil-cpp",
        "absl",
        "abseil",
        "messagepack",
        "newtonsoft",
        "newtonsoft.json",
        "phoenix",
        "cobra",
        "gin",
        "gin-gonic",
        "aeson",
        "data-aeson",
        "gson",
        "jackson",
        "jackson-databind",
        "databind",
        "axios",
        "kotlinx-coroutines",
        "kotlinx",
        "coroutines",
        "ktor",
        "telescope.nvim",
        "telescope",
        "guzzle",
        "guzzlehttp",
        "monolog",
        "aiohttp",
        "fastapi",
        "model2vec",
        "pydantic",
        "pydantic_core",
        "requests",
        "rack",
        "axum",
        "tokio",
        "http4s",
        "alamofire",
        "vapor",
        "trpc",
        "vitest",
        "zls",
    ]
)
SKIPPED = frozenset(
    ["node_modules", "dist", "umd", "min", "locale", "locales", "generated", "third_party"]
)


@dataclass(frozen=True, slots=True)
class Source:
    """One source file of one package."""

    package: str
    language: str
    text: str


def sources(archive: Path, package: str) -> Iterator[Source]:
    """The distinct source files in ``archive`` worth reading, in the order of their hashes.

    That order is as good as random, and the same on every machine.
    """
    found: dict[str, Source] = {}
    for path, data in iterate_files(archive):
        spoken = language(path)
        if spoken and 0 < len(data) <= MAX_FILE:
            text = data.decode("utf-8", errors="ignore")
            if max(map(len, text.splitlines()), default=0) <= MAX_LINE:
                found[hashlib.sha256(data).hexdigest()] = Source(package, spoken, text)
    for key in sorted(found):
        yield found[key]


def language(path: str) -> str | None:
    """What a file worth reading is written in."""
    parts = [part.lower() for part in PurePosixPath(path).parts]
    if any(_is_left_out(part) for part in parts) or path.endswith((".min.js", ".d.ts")):
        return None
    return LANGUAGES.get(path.rpartition(".")[2].lower())


def _is_left_out(part: str) -> bool:
    """Whether a folder or file is the benchmark's or build output: rack, rack-2.2, rack.rb."""
    names = (part, part.partition(".")[0], part.rpartition("-")[0])
    return any(name in BENCHMARK or name in SKIPPED for name in names)


def iterate_files(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Paths and contents of the files worth reading."""
    if archive.suffix in {".whl", ".zip"}:
        with zipfile.ZipFile(archive) as opened:
            for name in opened.namelist():
                if language(name):
                    yield name, opened.read(name)
        return
    stream = _unpacked_deb(archive) if archive.suffix == ".deb" else None
    with tarfile.open(archive if stream is None else None, fileobj=stream) as opened:
        for member in opened:
            if member.isfile() and member.size <= MAX_FILE and language(member.name):
                file = opened.extractfile(member)
                if file:
                    yield member.name, file.read()


def _unpacked_deb(archive: Path) -> io.BytesIO:
    command = ["dpkg-deb", "--fsys-tarfile", str(archive)]
    return io.BytesIO(subprocess.run(command, check=True, capture_output=True).stdout)
