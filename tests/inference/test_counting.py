from kernel.inference.counting import TokenCounter
from kernel.settings.box import TRANSFORMER, box_folder


def test_tokens_are_counted_by_the_model_in_the_box_however_long_the_text() -> None:
    count = TokenCounter(box_folder() / TRANSFORMER)
    assert count("") == 0
    assert count("hello world") == 2
    assert count("\udcff odd") > 0
    line = "def close(self) -> None:\n"
    assert abs(count(line * 20_000) - 20_000 * count(line)) < 20_000
