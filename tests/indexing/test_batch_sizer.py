"""The size of a batch follows the speed of the model and what is known already."""

from codekernel.indexing.batch_sizer import MAX_BATCH_GROWTH, BatchSizer
from codekernel.indexing.index_plan import BatchSizes

LIMITS = BatchSizes(smallest=4, largest=512, initial=16, target_seconds=2.0)


def test_a_fast_model_gets_larger_batches_up_to_the_limit() -> None:
    """Growth is bounded by step and in all."""
    sizer = BatchSizer(LIMITS)
    sizer.record_embedding(16, 0.001)
    assert sizer.embedded_texts == 16 * MAX_BATCH_GROWTH
    sizer.record_embedding(128, 0.001)
    assert sizer.embedded_texts == LIMITS.largest


def test_a_slow_model_gets_batches_that_take_as_long_as_wanted() -> None:
    """But never fewer texts than the least."""
    sizer = BatchSizer(LIMITS)
    sizer.record_embedding(16, 4.0)
    assert sizer.embedded_texts == 8
    sizer.record_embedding(8, 80.0)
    assert sizer.embedded_texts == LIMITS.smallest


def test_more_is_read_ahead_while_nearly_everything_is_found() -> None:
    """And no more than is embedded at once when something is missing."""
    sizer = BatchSizer(LIMITS)
    sizer.record_lookup(asked=16, missing=1)
    assert sizer.read_texts == 16 * MAX_BATCH_GROWTH
    sizer.record_lookup(asked=128, missing=64)
    assert sizer.read_texts == 16


def test_the_reported_speed_leans_on_earlier_batches() -> None:
    """One slow batch does not become the estimate."""
    assert BatchSizer(LIMITS).chunks_per_second is None
    sizer = BatchSizer(LIMITS)
    sizer.record_embedding(100, 1.0)
    sizer.record_embedding(10, 1.0)
    assert 70 < (sizer.chunks_per_second or 0) < 75
