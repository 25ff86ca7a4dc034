"""How much each signal counts in one repository: learned from its history, stored with its index.

Factors of the constants of ranking.py and boosts.py; without a file each is 1. ``codekernel eval
--tune`` writes the file (tuning.py), ``--untune`` deletes it.
"""

import json
import logging
import os
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path

from codekernel.storage.safe_files import read_regular, translate_os_errors, write_bytes_atomically

logger = logging.getLogger(__name__)

WEIGHTS_FILE = "ranking.json"

# Learned factors stay within these, and a file with others is not believed.
MIN_FACTOR, MAX_FACTOR = 0.25, 4.0

_VERSION = 1

_MAX_FILE_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class RankingWeights:
    """Factors of what is added to the score of a chunk for a sentence."""

    semantic: float = 1.0
    name_parts: float = 1.0
    file_name: float = 1.0
    folder: float = 1.0
    file_total: float = 1.0


DEFAULT_WEIGHTS = RankingWeights()

WEIGHT_NAMES = tuple(field.name for field in fields(RankingWeights))


def read_weights(index_folder: Path) -> RankingWeights:
    """Return the weights of a repository; the defaults if none were learned, or the file is bad."""
    path = os.path.join(index_folder, WEIGHTS_FILE)  # noqa: PTH118 - with each search
    try:
        found = os.stat(path)  # noqa: PTH116 - as above
    except OSError:
        return DEFAULT_WEIGHTS
    return _parse_file(path, found.st_mtime_ns, found.st_size)


@lru_cache(64)
def _parse_file(path: str, _mtime_ns: int, size: int) -> RankingWeights:
    try:
        content = json.loads(read_regular(path)) if size <= _MAX_FILE_BYTES else None
        if not isinstance(content, dict) or content["version"] != _VERSION:
            return DEFAULT_WEIGHTS
        weights = RankingWeights(**{name: float(content["weights"][name]) for name in WEIGHT_NAMES})
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.warning("the weights in %s are not used: %s", path, error)
        return DEFAULT_WEIGHTS
    if not all(MIN_FACTOR <= value <= MAX_FACTOR for value in asdict(weights).values()):
        logger.warning("the weights in %s are not used: out of range", path)
        return DEFAULT_WEIGHTS
    return weights


def write_weights(index_folder: Path, weights: RankingWeights) -> None:
    """Keep the weights of a repository. Raises StorageError."""
    content = {"version": _VERSION, "weights": asdict(weights)}
    write_bytes_atomically(index_folder / WEIGHTS_FILE, json.dumps(content, indent=2).encode())


def delete_weights(index_folder: Path) -> None:
    """Rank with the defaults again. Raises StorageError."""
    path = index_folder / WEIGHTS_FILE
    with translate_os_errors(path):
        path.unlink(missing_ok=True)
