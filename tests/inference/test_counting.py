from codekernel.inference.tokenizer import ModelTokenCounter
from codekernel.settings.local_models import TRANSFORMER_MODEL, get_bundled_folder


def test_tokens_are_counted_by_the_model_in_the_box_however_long_the_text() -> None:
    count = ModelTokenCounter(get_bundled_folder() / TRANSFORMER_MODEL)
    assert count("") == 0
    assert count("hello world") == 2
    assert count("\udcff odd") > 0
    line = "def close(self) -> None:\n"
    assert abs(count(line * 20_000) - 20_000 * count(line)) < 20_000
