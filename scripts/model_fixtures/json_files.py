"""JSON as the fixtures hold it."""

import json
from pathlib import Path
from typing import Any


def write_json(file: Path, value: Any) -> None:
    """Write as hubs do: indented, not escaped."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_expected(folder: Path, expected: dict[str, Any]) -> None:
    """Write expected.json, one line per key."""
    rows = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in expected.items()]
    (folder / "expected.json").write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
