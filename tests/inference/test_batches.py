from codekernel.inference.batching import MAX_PADDING_RATIO, plan_batches
from hypothesis import given
from hypothesis import strategies as st

lengths = st.lists(st.integers(1, 600), max_size=200)


@given(lengths, st.integers(1, 2000))
def test_every_text_is_in_one_batch_within_the_budget_and_with_little_padding(
    lengths: list[int], budget: int
) -> None:
    batches = plan_batches(lengths, batch_size_tokens=budget)
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    for batch in batches:
        widths = [lengths[position] for position in batch]
        area = max(widths) * len(batch)
        assert len(batch) == 1 or area <= budget
        assert area - sum(widths) <= MAX_PADDING_RATIO * area


def test_texts_of_one_length_share_batches() -> None:
    assert [len(batch) for batch in plan_batches([128] * 10, batch_size_tokens=512)] == [4, 4, 2]


def test_the_longest_go_first() -> None:
    assert plan_batches([5, 500, 50], batch_size_tokens=512) == [[1], [2], [0]]


def test_nothing_to_do_is_no_batch() -> None:
    assert plan_batches([], batch_size_tokens=512) == []
