"""The files of a model folder: which is the model, what the JSON says, and a fingerprint."""

import hashlib
from pathlib import Path
from typing import Any

from kernel.domain.safe_json import parse_json
from kernel.errors import InvalidModel

# Full precision first: on a CPU the smaller forms are seldom faster and often worse.
_PREFERRED = ("model.onnx", "model_optimized.onnx", "model_fp16.onnx", "model_quantized.onnx")
# Hashing gigabytes at every start would take longer than loading them. Training changes every
# weight, so a few dozen samples of each file tell two models apart.
_SAMPLES = 32
_SAMPLE_BYTES = 64 * 1024


def find_onnx(folder: Path, named: str | None) -> Path:
    """The model's file: the one named, else model.onnx, else what onnx/ offers."""
    if not folder.is_dir():
        raise InvalidModel(f"there is no model folder {folder}")
    if named is not None:
        return _not_empty(folder / named)
    for place in (folder, folder / "onnx"):
        found = {path.name: path for path in sorted(place.glob("*.onnx"))}
        for name in (*_PREFERRED, *found):
            if name in found:
                return _not_empty(found[name])
    raise InvalidModel(
        f"{folder} is not a model: it has neither model.onnx nor onnx/model.onnx; "
        "export the model to ONNX into this folder"
    )


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if there is no such file."""
    try:
        content = parse_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InvalidModel(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidModel(f"{path} is not valid JSON") from error
    if isinstance(content, list):  # modules.json is a list
        return {"items": content}
    if not isinstance(content, dict):
        raise InvalidModel(f"{path} does not hold a JSON object")
    return content


def fingerprint(folder: Path, onnx_file: Path) -> str:
    """What changes whenever the vectors this folder gives would change."""
    digest = hashlib.sha256()
    beside = [onnx_file, *sorted(onnx_file.parent.glob(f"{onnx_file.name}?data"))]
    texts = sorted({*folder.glob("*.json"), *folder.glob("*/config.json"), *folder.glob("*.model")})
    texts += [path for path in (folder / "vocab.txt", folder / "merges.txt") if path.exists()]
    for path in [*beside, *(path for path in texts if path.name != "expected.json")]:
        digest.update(path.relative_to(folder).as_posix().encode())
        _sample(path, digest)
    return digest.hexdigest()


def _sample(path: Path, digest: "hashlib._Hash") -> None:
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            digest.update(str(size).encode())
            step = max(_SAMPLE_BYTES, size // _SAMPLES)
            for start in range(0, size, step):
                file.seek(start)
                digest.update(file.read(_SAMPLE_BYTES))
    except OSError as error:
        raise InvalidModel(f"{path} cannot be read: {error.strerror}") from error


def _not_empty(path: Path) -> Path:
    if not path.is_file():
        raise InvalidModel(f"there is no file {path}")
    if path.stat().st_size == 0:
        raise InvalidModel(f"{path} is empty; the download or copy did not finish")
    return path
