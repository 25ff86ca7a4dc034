"""Searchers for ../shared/bench/score.py: semble with our static model, asked in its own process.

Its processor time is spent in that child, where score.py does not see it; rivals.py has it.
"""

from pathlib import Path

import rival_semble

Hit = tuple[str, int, int]


class Semble:
    """semble's search with the model in model2vec's form: the sum counts every occurrence."""

    damped = False

    def __init__(self) -> None:
        self._rival = rival_semble.Semble(damped=self.damped)
        self.name = f"{self._rival.name} {rival_semble.VERSION}, codekernel-static-v3"
        reason = self._rival.available()
        if reason:
            raise SystemExit(f"{self._rival.name}: {reason}")

    def index(self, root: Path) -> rival_semble.Semble:
        """Index ``root`` in the child; it keeps one index at a time."""
        self._rival.index(root)
        return self._rival

    def search(self, handle: rival_semble.Semble, query: str, k: int) -> list[Hit]:
        """The best chunks."""
        return [(path, first, last) for path, first, last in handle.search(query, k)["hits"]]


class SembleDamped(Semble):
    """The same with our model's own sum; it hardly matters (English: .858, Semble .859)."""

    damped = True
