"""Which texts are run together: sorted by length, so that hardly a token is padding."""

from collections.abc import Sequence

# Of a batch, what may be padding. Measured on functions of mixed length: padding is the whole cost
# of batching, and a batch of one is as fast per token as a batch of eight.
PADDING_SHARE = 0.1


def plan(lengths: Sequence[int], *, tokens_per_batch: int) -> list[list[int]]:
    """Batches of positions in ``lengths``, longest first; a longer text has a batch of its own.

    Longest first, because the last batch to end decides when all are done.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    batches: list[list[int]] = []
    widest = used = 0
    for position in order:
        length = lengths[position]
        size = len(batches[-1]) + 1 if batches else 1
        padding = widest * size - used - length
        full = widest * size > tokens_per_batch or padding > PADDING_SHARE * widest * size
        if not batches or full:
            batches.append([])
            widest, used = length, 0
        batches[-1].append(position)
        used += length
    return batches
