"""Words looked up give the tokens that the tokenizer itself gives, for any text."""

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, normalizers, pre_tokenizers

from kernel.inference.model_folder import read_model_folder
from kernel.inference.remembered_words import RememberedWords
from kernel.inference.tokens import Tokenization
from kernel.settings.box import STATIC, TRANSFORMER, box_folder

FOLDER = read_model_folder(box_folder() / STATIC)
CODE_LETTERS = "aAbBsStTeE019_ .-\n(é中ﬁ"
CHINESE_LETTERS = "登录验证用户读取文件。々あカ한aA9_ "


# Read when they are first needed: a second of CPU, for each worker that collects tests.
@cache
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(FOLDER.path / "tokenizer.json"))


@cache
def tokenization() -> Tokenization:
    return Tokenization(FOLDER)


@settings(deadline=None)  # the first example reads the files
@given(
    st.one_of(
        st.text(alphabet=CODE_LETTERS),
        st.text(alphabet=CHINESE_LETTERS),
        st.text(alphabet=st.characters(max_codepoint=127)),
    )
)
def test_a_text_has_the_tokens_its_tokenizer_gives(text: str) -> None:
    assert tokenization().encode([text])[0].ids == tokenizer().encode(text).ids


def test_texts_of_any_script_keep_their_order() -> None:
    texts = ["parseHTTPRequests", "解析请求", "", "URLs of getUserName2", "naïve", "x" * 300]
    found = [tokens.ids for tokens in tokenization().encode(texts)]
    assert found == [tokenizer().encode(text).ids for text in texts]


def test_ascii_alone_is_looked_up() -> None:
    remembering = Tokenization(FOLDER)
    remembering.encode(["parse the request", "解析 parse", "读取配置文件" * 20])
    assert remembering._words
    assert set(remembering._words._known) == {"parse", "the", "request"}


def test_a_long_text_is_cut_to_the_window_of_the_model() -> None:
    ids = tokenization().encode(["word other " * 5_000])[0].ids
    assert ids == tokenizer().encode("word other " * 5_000).ids[: FOLDER.max_tokens]


def test_a_tokenizer_that_reads_words_in_their_surroundings_is_left_alone() -> None:
    transformer = Tokenizer.from_file(str(box_folder() / TRANSFORMER / "tokenizer.json"))
    assert not RememberedWords.suit(transformer)


def test_a_tokenizer_that_changes_ascii_first_is_left_alone() -> None:
    lowering = Tokenizer.from_str(tokenizer().to_str())
    assert RememberedWords.suit(lowering)
    lowering.normalizer = normalizers.Lowercase()
    assert not RememberedWords.suit(lowering)


def test_a_tokenizer_that_splits_otherwise_is_left_alone() -> None:
    other = Tokenizer.from_str(tokenizer().to_str())
    other.pre_tokenizer = pre_tokenizers.Whitespace()
    assert not RememberedWords.suit(other)
