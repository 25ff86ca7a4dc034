"""How many tokens a text has, for a model whose own tokenizer nobody has."""

from pathlib import Path

from kernel.inference.tokenizer_files import load_tokenizer

# Characters given to the tokenizer at once; a text of megabytes is counted in pieces, whose seams
# add a token each at the most.
_PIECE = 100_000


class TokenCounter:
    """Counts with the tokenizer of a model folder, for any number of threads."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = load_tokenizer(folder)

    def __call__(self, text: str) -> int:
        """Tokens without the special ones that a template would add."""
        clean = text.encode(errors="replace").decode()
        pieces = [clean[start : start + _PIECE] for start in range(0, len(clean), _PIECE)]
        encodings = self._tokenizer.encode_batch_fast(pieces, add_special_tokens=False)
        return sum(len(encoding.ids) for encoding in encodings)
