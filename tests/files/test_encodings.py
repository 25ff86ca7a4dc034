import codecs

import pytest
from codekernel.files.encodings import DAMAGED_UTF_8, decode_text
from hypothesis import given
from hypothesis import strategies as st

CODE = "int main(void) {\n    return 0; // %s\n}\n"
TEXTS = {
    "french": "Vérifie que la clé a été trouvée, même si l'élève est à côté; déjà créée",
    "german": "Prüft die Größe des Schlüssels und ändert den Öffner für später",
    "spanish": "¿Está vacía la colección? Añade el último año del niño",
    "swedish": "Ångström är en måttenhet för små avstånd på höjden",
    "chinese": "检查配置文件是否存在\uff0c如果不存在则创建一个新的文件",
    "short chinese": "中文",
    "traditional": "檢查設定檔是否存在\uff0c如果不存在就建立一個新的檔案\uff0c並回傳結果",
    "japanese": "設定ファイルが存在するかどうかを確認し、なければ作成します",
    "korean": "설정 파일이 있는지 확인하고 없으면 새로 만듭니다",
}
CASES = [
    *((language, "cp1252") for language in ("french", "german", "spanish", "swedish")),
    ("chinese", "gb18030"),
    ("short chinese", "gb18030"),
    ("traditional", "cp950"),
    ("japanese", "cp932"),
    ("japanese", "euc_jp"),
    ("korean", "cp949"),
]


@pytest.mark.parametrize(("language", "encoding"), CASES)
@pytest.mark.parametrize("times", [1, 50])
def test_comments_in_older_encodings_are_read_in_their_own(
    language: str, encoding: str, times: int
) -> None:
    text = (CODE % TEXTS[language]) * times
    decoded = decode_text(text.encode(encoding))
    assert decoded is not None
    assert (decoded.text, decoded.encoding) == (text, encoding)


@pytest.mark.parametrize(
    "word", ["é", "créée", "naïve", "Noël", "30 °C", "5 µm", "©", "«é»", "ÄÖÜ"]
)
def test_a_single_accented_word_is_not_taken_for_chinese(word: str) -> None:
    text = CODE % word
    decoded = decode_text(text.encode("cp1252"))
    assert decoded is not None
    assert (decoded.text, decoded.encoding) == (text, "cp1252")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("text", [CODE % words for words in TEXTS.values()])
def test_unicode_is_read_whatever_the_language(text: str, encoding: str) -> None:
    decoded = decode_text(text.encode(encoding))
    assert decoded is not None
    assert (decoded.text, decoded.encoding) == (text, encoding)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [CODE % words for words in TEXTS.values()])
def test_utf_16_needs_no_mark(text: str, encoding: str) -> None:
    decoded = decode_text(text.encode(encoding))
    assert decoded is not None
    assert (decoded.text, decoded.encoding) == (text, encoding)


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE])
def test_the_other_byte_order_is_read_by_its_mark(mark: bytes) -> None:
    name = "utf-16" if len(mark) == 2 else "utf-32"
    decoded = decode_text(mark + "a\n中".encode(f"{name}-be"))
    assert decoded is not None
    assert (decoded.text, decoded.encoding) == ("a\n中", name)


def test_utf_8_with_a_few_bad_bytes_stays_readable() -> None:
    good = (CODE % TEXTS["chinese"]).encode()
    decoded = decode_text(good + b"\xff\n")
    assert decoded is not None
    assert decoded.encoding == DAMAGED_UTF_8
    assert decoded.text == good.decode() + "\ufffd\n"


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)),
        b"\0" * 100,
        b"\1\0\2\0\3\0\4\0" * 50,
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(255, 0, -1)),
        b"a\0b",
        b"\x01\x02\x03\xff" * 50,
    ],
)
def test_what_is_no_text_is_not_decoded(data: bytes) -> None:
    assert decode_text(data) is None


@given(st.text())
def test_any_text_without_nul_survives_utf_8(text: str) -> None:
    text = text.replace("\0", "").removeprefix("\ufeff")
    decoded = decode_text(text.encode())
    assert decoded is not None
    assert decoded.text == text


@given(st.binary(max_size=300))
def test_any_bytes_are_decoded_as_named_or_not_at_all(data: bytes) -> None:
    decoded = decode_text(data)
    if decoded and decoded.encoding != DAMAGED_UTF_8:
        assert data.decode(decoded.encoding) == decoded.text
