"""``models/manifest.json``: every model that comes with codekernel, with the hashes of its files.

Standard library only. ``scripts/train/finish.py``, which writes the static model, uses it too.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

MODELS = Path(__file__).resolve().parents[2] / "models"


def sha256(path: Path) -> str:
    """The file's hash, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def record(entry: dict[str, object], folder: Path, files: Iterable[str]) -> None:
    """Put ``entry`` in the place of the one with the same name, adding the files it consists of."""
    manifest = folder.parent / "manifest.json"
    known = json.loads(manifest.read_text(encoding="utf-8"))["models"] if manifest.exists() else []
    names = sorted(files)
    entry = {
        **entry,
        "folder": folder.name,
        "bytes": sum((folder / name).stat().st_size for name in names),
        "files": {name: sha256(folder / name) for name in names},
    }
    others = [model for model in known if model["name"] != entry["name"]]
    models = sorted([*others, entry], key=lambda model: model["name"])
    write_json(manifest, {"models": models})


def write_json(path: Path, value: object) -> None:
    """The same bytes for the same value on every system."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")
