import json

import pytest
from codekernel.protocol import settings_file


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1} // end', {"a": 1}),
        ('// start\n{"a": 1}', {"a": 1}),
        ('{/* here */"a": /* and * / here **/1}', {"a": 1}),
        ('{"a": [1, 2,],}', {"a": [1, 2]}),
        ('{"a": [1, // one\n /* two */ ],\r\n}', {"a": [1]}),
        ('{"url": "http://x//y", /* "no": 1, */}', {"url": "http://x//y"}),
        (
            r'{"a": "\\", "b": "\"//,]", "c": "/* ,} */"}',
            {"a": "\\", "b": '"//,]', "c": "/* ,} */"},
        ),
        ("[//]\n1]", [1]),
        ("[1 /**/, /**/]", [1]),
    ],
)
def test_comments_and_trailing_commas_disappear_outside_strings(text: str, value: object) -> None:
    assert json.loads(settings_file.strip_comments(text)) == value


@pytest.mark.parametrize(
    "text", ["[,]", "{ ,}", "[ /* nothing */ ,]", "[1,,]", "[1 /* open ]", '["open]', "[1] /"]
)
def test_mistakes_stay_mistakes(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(settings_file.strip_comments(text))


def test_every_other_character_keeps_its_line_and_column() -> None:
    text = '{\n  /* one\n     two */ "ключ": [1, // x\r\n 2, ], // y\n  "b": 3,\n}\n'
    stripped = settings_file.strip_comments(text)
    before, after = text.split("\n"), stripped.split("\n")
    assert [len(line.rstrip("\r")) for line in before] == [
        len(line) - line_before.endswith("\r")
        for line, line_before in zip(after, before, strict=True)
    ]
    for line_before, line_after in zip(before, after, strict=True):
        for character, kept in zip(line_before, line_after, strict=True):
            assert kept in {character, " "}
    assert after[2].index('"ключ"') == before[2].index('"ключ"')
    assert json.loads(stripped) == {"ключ": [1, 2], "b": 3}


def test_text_without_comments_is_returned_unchanged() -> None:
    text = json.dumps({"a": ["//", "/*", "*/", ",]", '"', "\\"], "b": {"c": [1, 2]}}, indent=2)
    assert settings_file.strip_comments(text) == text


@pytest.mark.slow
@pytest.mark.timeout(60)  # quadratic time would be hours
@pytest.mark.parametrize(
    "pattern",
    [
        "/*",
        "/**/",
        "//",
        '"',
        '\\"',
        '"\\',
        ",",
        ", /*",
        ",/**/",
        "[",
        "[/**/",
        "[ ,",
        "*",
        "/",
        "\n,",
    ],
)
def test_five_hostile_megabytes_take_no_more_than_linear_time(pattern: str) -> None:
    text = pattern * (5_000_000 // len(pattern))
    assert len(settings_file.strip_comments(text)) == len(text)


@pytest.mark.parametrize(
    "content",
    [
        '{"ü": 1}'.encode(),
        '{"ü": 1}'.encode("utf-8-sig"),
        '{"ü": 1}'.encode("utf-16"),
        b"\xff\xfe" + '{"ü": 1}'.encode("utf-16-le"),
        b"\xfe\xff" + '{"ü": 1}'.encode("utf-16-be"),
    ],
)
def test_byte_order_marks_are_understood_and_removed(content: bytes) -> None:
    assert settings_file.decode_text(content) == '{"ü": 1}'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": }', "line 1, column 7: expected a value"),
        ('{\n  "a" 1}', "line 2, column 7: expected a colon"),
        ("{\n  a: 1}", "line 2, column 3: expected a key in double quotes"),
        ('{"a": 1\n "b": 2}', "line 2, column 2: expected a comma or a closing bracket"),
        ("{} x", "line 1, column 4: expected the end of the file"),
        ('{"a": "x', "line 1, column 7: expected a closing quote for the text that starts here"),
        ('{"a": "C:\\x"}', "line 1, column 10: expected a valid escape after the backslash"),
    ],
)
def test_a_syntax_problem_has_a_place_and_an_expectation(text: str, problem: str) -> None:
    assert settings_file.describe_syntax_error(text, None).startswith(problem)


def test_a_place_counts_characters_not_bytes() -> None:
    text = '{\n"ключ": NaN}'
    place = len(text[: text.index("NaN")].encode())
    assert settings_file.describe_syntax_error(text, place) == (
        "line 2, column 9: expected a number, and JSON has no NaN"
    )
