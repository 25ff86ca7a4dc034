"""Reads the ``.hmsemb`` pack: a JSON header, a tokenizer, and tensors in int8 groups or float32."""

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = b"HMSEMB01"
HEADER_START = len(MAGIC) + 8  # magic, then the header's length as a 64-bit number


@dataclass(frozen=True)
class Groups:
    """A matrix [rows, columns] of int8, with one float32 scale for every ``group`` columns."""

    values: np.ndarray  # int8 [rows, columns / group, group]
    scales: np.ndarray  # float32 [rows, columns / group]

    def floats(self) -> np.ndarray:
        """The matrix in float32: exactly what the pack means, and our reference."""
        whole = self.values.astype(np.float32) * self.scales[..., None]
        return whole.reshape(len(whole), -1)


@dataclass(frozen=True)
class Pack:
    """What the pack holds, with its own names for tensors."""

    architecture: dict[str, float]
    tokenizer: bytes
    tensors: dict[str, np.ndarray | Groups]

    def floats(self, name: str) -> np.ndarray:
        """A tensor in float32, however it is stored."""
        tensor = self.tensors[name]
        return tensor.floats() if isinstance(tensor, Groups) else tensor

    def groups(self, name: str) -> Groups:
        """A tensor that is stored in int8 groups."""
        tensor = self.tensors[name]
        if not isinstance(tensor, Groups):
            raise TypeError(f"{name} is not stored in groups")
        return tensor

    def size(self, name: str) -> int:
        """A whole number of the architecture: hidden, layers, heads ..."""
        return int(self.architecture[name])


def read(path: Path) -> Pack:
    """Read the pack at ``path``."""
    data = path.read_bytes()
    if not data.startswith(MAGIC):
        raise ValueError(f"{path.name} is not an .hmsemb pack")
    (length,) = struct.unpack("<Q", data[len(MAGIC) : HEADER_START])
    position = HEADER_START + length
    header = json.loads(data[HEADER_START:position])
    tokenizer = data[position : position + header["tokenizer_len"]]
    position += len(tokenizer)
    tensors = {}
    for entry in header["tensors"]:
        tensors[entry["name"]] = _tensor(entry, data[position : position + entry["len"]])
        position += entry["len"]
    return Pack(header["arch"], tokenizer, tensors)


def _tensor(entry: dict[str, Any], data: bytes) -> np.ndarray | Groups:
    if entry["dtype"] == "f32":
        return np.frombuffer(data, "<f4").reshape(entry["shape"])
    rows, columns = entry["shape"]
    values = np.frombuffer(data[: rows * columns], np.int8)
    scales = np.frombuffer(data[rows * columns :], "<f4")
    return Groups(values.reshape(rows, -1, entry["group"]), scales.reshape(rows, -1))
