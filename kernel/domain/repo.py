"""A registered repository."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Repo:
    """A folder the user has registered under the folder's own name.

    ``id`` names its index under userData and is never given to another repository.
    """

    id: int
    name: str
    path: Path
