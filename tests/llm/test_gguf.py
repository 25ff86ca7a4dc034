import importlib.util
import struct
from pathlib import Path

import pytest
from codekernel.domain.settings import Performance
from codekernel.errors import InvalidModel
from codekernel.llm.providers.gguf import find_gguf, read_context_length
from codekernel.llm.providers.llama_cpp import open_local_backend


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def header(*entries: bytes, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(entries)) + b"".join(entries)


NAME = text("general.name") + struct.pack("<I", 8) + text("A model")
CONTEXT = text("llama.context_length") + struct.pack("<II", 4, 8192)
TAGS = text("general.tags") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b")
VOCABULARY = text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2000) + text("a") * 2000


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_how_much_a_model_can_read_stands_in_its_file(tmp_path: Path) -> None:
    file = written(tmp_path / "model.gguf", header(NAME, TAGS, CONTEXT, VOCABULARY))
    assert read_context_length(file) == 8192


def test_a_file_need_not_say_it(tmp_path: Path) -> None:
    assert (
        read_context_length(written(tmp_path / "a.gguf", header(NAME, VOCABULARY, CONTEXT))) is None
    )
    assert read_context_length(written(tmp_path / "b.gguf", header(NAME))) is None
    assert read_context_length(written(tmp_path / "c.gguf", header(version=1))) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04 a zip",
        header(NAME)[:30],
        header(text("x") + struct.pack("<I", 99)),
        header(struct.pack("<Q", 1 << 60)),
    ],
    ids=["empty", "zip", "cut", "unknown kind", "absurd length"],
)
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    file = written(tmp_path / "model.gguf", content)
    with pytest.raises(InvalidModel, match=r"model\.gguf.*download it again"):
        read_context_length(file)


def test_a_folder_is_searched_for_its_model(tmp_path: Path) -> None:
    for name in ("mmproj-x.gguf", "x-00002-of-00002.gguf", "x-00001-of-00002.gguf", "readme.md"):
        written(tmp_path / name, b"")
    assert find_gguf(tmp_path).name == "x-00001-of-00002.gguf"
    assert find_gguf(tmp_path / "x-00002-of-00002.gguf").name == "x-00002-of-00002.gguf"


@pytest.mark.parametrize("name", ["", "missing", "missing.gguf"])
def test_a_place_without_a_model_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidModel, match=r"holds no \.gguf file"):
        open_local_backend(tmp_path / name, Performance())


def test_without_the_package_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "xllamacpp" else find_spec(name)
    )
    file = written(tmp_path / "model.gguf", header(CONTEXT))
    with pytest.raises(InvalidModel, match=r"codekernel\[local\]"):
        open_local_backend(file, Performance())
