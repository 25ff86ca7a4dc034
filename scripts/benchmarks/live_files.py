"""Files of a repository that a benchmark may edit, and words that stand in none of them."""

import random
from pathlib import Path

SEED = 4
# Small enough that one save is one small piece of work, as it mostly is.
MAX_FILE = 60_000
SUFFIX = ".py"
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"


def editable(repo: Path) -> list[Path]:
    """Source files, in an order that is the same every time but not that of the folders."""
    files = sorted(
        file
        for file in repo.rglob(f"*{SUFFIX}")
        if file.is_file() and not file.is_symlink() and 0 < file.stat().st_size < MAX_FILE
    )
    random.Random(SEED).shuffle(files)  # noqa: S311 - not for secrets
    return files


class Words:
    """Words that nobody has written before, all letters, so that no tokenizer splits them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - not for secrets

    def next(self) -> str:
        """Another one."""
        pairs = [self._random.choice(CONSONANTS) + self._random.choice(VOWELS) for _ in range(7)]
        return "zx" + "".join(pairs)


def function(word: str) -> str:
    """A small Python function that only its name makes different."""
    return f'\n\ndef {word}(value):\n    """Return {word} of a value."""\n    return value + 1\n'
