"""Comparing the files of the lexical index with the checksums that tantivy wrote into them.

Every file of a segment ends with a footer: JSON with a CRC of what stands before it, the length of
that JSON, and a magic number. tantivy itself compares them only when it is told to.
"""

import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kernel.storage.failures import explain
from kernel.storage.lexical_failures import unreadable

META_FILE = "meta.json"
STEP_BYTES = 1024 * 1024
_PARTS = ("idx", "term", "fast", "fieldnorm", "pos", "store")
_STAMP = re.compile(rb'"opstamp": *(\d+)\s*}\s*$')
_FOOTER_MAGIC = 1337
_FOOTER_TAIL_BYTES = 8
MAX_FOOTER_BYTES = 50_000


def verify_lexical(folder: Path, between_steps: Callable[[], None] = lambda: None) -> None:
    """Raise IndexUnreadable for the first file that is not as it was written."""
    try:
        meta = read_meta(folder)
        for name in _live_files(meta):
            between_steps()
            if not _has_right_footer(folder / name, between_steps):
                raise unreadable(folder, f"{name} differs from its checksum")
    except FileNotFoundError as error:
        raise unreadable(folder, f"{Path(error.filename).name} is missing") from error
    except OSError as error:
        raise explain(error, folder) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise unreadable(folder, f"{META_FILE} is damaged: {error}") from error


def read_meta(folder: Path) -> dict[str, Any]:
    """What tantivy says of its segments; raises OSError or ValueError."""
    import json  # noqa: PLC0415 - whoever opens an index and asks at once does not wait for it

    found: dict[str, Any] = json.loads((folder / META_FILE).read_bytes())
    return found


def read_stamp(folder: Path) -> int | None:
    """The number of the last commit; none if that cannot be read."""
    try:
        found = _STAMP.search((folder / META_FILE).read_bytes())
    except OSError:
        return None
    return int(found[1]) if found else None


def _live_files(meta: dict[str, Any]) -> Iterator[str]:
    for segment in meta["segments"]:
        name = segment["segment_id"].replace("-", "")
        for part in _PARTS:
            yield f"{name}.{part}"
        if segment["deletes"]:
            yield f"{name}.{segment['deletes']['opstamp']}.del"


def _has_right_footer(file: Path, between_steps: Callable[[], None]) -> bool:
    import json  # noqa: PLC0415 - see above

    size = file.stat().st_size
    with file.open("rb") as content:
        if size < _FOOTER_TAIL_BYTES:
            return False
        content.seek(size - _FOOTER_TAIL_BYTES)
        tail = content.read(_FOOTER_TAIL_BYTES)
        length, magic = int.from_bytes(tail[:4], "little"), int.from_bytes(tail[4:], "little")
        body = size - _FOOTER_TAIL_BYTES - length
        if magic != _FOOTER_MAGIC or body < 0 or length > MAX_FOOTER_BYTES:
            return False
        content.seek(body)
        footer = json.loads(content.read(length))
        content.seek(0)
        found = 0
        while body > 0:
            step = content.read(min(STEP_BYTES, body))
            if not step:
                return False
            between_steps()
            found = zlib.crc32(step, found)
            body -= len(step)
    return footer.keys() == {"version", "crc"} and bool(footer["crc"] == found)
