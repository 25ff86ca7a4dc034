import json
import re
from typing import Any

import msgspec
import pytest
from codekernel.domain.settings import ModelKind
from codekernel.errors import InvalidSettings
from codekernel.protocol import settings_text
from codekernel.protocol.settings_file import SettingsFile, parse_settings, parse_settings_sections

AS_DOCUMENTED = """
{
    "searchSettings" : {
        "searchLimit" : 10, // 搜索结果数
        "embeddingConfig": {
            "configs" : [ // 可以有多个被选中
                {
                    "name" : "bge-m3-512", // unique name
                    "modelName" : "bge-m3", // refer to localModelManagement.name, NOT modelName
                    "inputLength" : 512,
                    "selected" : true
                }
            ]
        },
        "rerankConfig" : {
            "configs" : [
                {
                    "modelName" : "bge-reranker-v2-m3",
                    "selected" : true
                }
            ]
        }
    },
    "localModelManagement" : {
        "models" : [
            {
                "name" : "bge-m3", // unique name
                "path" : "/path/to/bge-m3", // dir must exist
                "type" : "embedding", // embedding or rerank or generation
                "fileSize" : 2200, // in MB, calculated by frontend
            }
        ]
    },
    "conversationSettings" : {
        "generationModel" : [
            {
                "name" : "deepseek", // unique name
                "modelName" : "deepseek-chat",
                "url" : "http://...",
                "setApiKey" : true // api key is stored in the database
            }
        ],
        "historyLength" : 1000, // 历史对话长度, 0 for no limit
    },
    "performance": {
        "maxThreads" : 0, // max threads for onnxruntime, 0 means max available threads
        "cuda available" : true, // this is not a setting
        "useCuda" : false, // whether to use cuda, if available
        "coreML available" : true,
        "useCoreML" : false
    }
}
"""

REQUIRED = [
    "searchSettings.searchLimit",
    "searchSettings.embeddingConfig.configs",
    "searchSettings.embeddingConfig.configs[0].name",
    "searchSettings.embeddingConfig.configs[0].modelName",
    "searchSettings.embeddingConfig.configs[0].inputLength",
    "searchSettings.rerankConfig.configs",
    "searchSettings.rerankConfig.configs[0].modelName",
    "localModelManagement.models",
    "localModelManagement.models[0].name",
    "localModelManagement.models[0].path",
    "localModelManagement.models[0].type",
    "conversationSettings.generationModel",
    "conversationSettings.generationModel[0].name",
    "conversationSettings.generationModel[0].modelName",
    "conversationSettings.generationModel[0].url",
    "conversationSettings.historyLength",
    "performance.maxThreads",
    "performance.useCuda",
    "performance.useCoreML",
]
SECTIONS = [
    "searchSettings",
    "searchSettings.embeddingConfig",
    "searchSettings.rerankConfig",
    "localModelManagement",
    "conversationSettings",
    "performance",
]
OPTIONAL = [
    "searchSettings.embeddingConfig.configs[0].selected",
    "searchSettings.rerankConfig.configs[0].selected",
    "localModelManagement.models[0].fileSize",
    "conversationSettings.generationModel[0].setApiKey",
    "performance.cuda available",
    "performance.coreML available",
]


@pytest.fixture
def document() -> Any:
    strict = re.sub(r" // .*", "", AS_DOCUMENTED)
    return json.loads(re.sub(r",(\s*})", r"\1", strict))


def holder_of(document: Any, key: str) -> tuple[Any, str]:
    *parents, last = re.findall(r"\[0]|[^.\[]+", key)
    for parent in parents:
        document = document[0 if parent == "[0]" else parent]
    return document, last


def encoded(document: Any) -> bytes:
    return json.dumps(document).encode()


def problem_of(content: bytes) -> str:
    with pytest.raises(InvalidSettings) as caught:
        parse_settings(content)
    return str(caught.value)


def test_the_documented_example_is_read_with_its_comments_and_trailing_commas() -> None:
    file = parse_settings(AS_DOCUMENTED.encode())
    assert file.search_settings.search_limit == 10
    assert file.search_settings.embedding_config.configs[0].max_chunk_chars == 512
    assert file.search_settings.rerank_config.configs[0].is_selected
    assert file.local_model_management.models[0].type is ModelKind.EMBEDDING
    assert file.local_model_management.models[0].file_size == 2200
    assert file.conversation_settings.generation_models[0].url == "http://..."
    assert file.conversation_settings.generation_models[0].needs_key
    assert file.conversation_settings.history_length == 1000
    assert not file.performance.use_coreml


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_every_encoding_of_a_windows_editor_is_read(encoding: str) -> None:
    assert parse_settings(AS_DOCUMENTED.replace("\n", "\r\n").encode(encoding)) == parse_settings(
        AS_DOCUMENTED.encode()
    )


@pytest.mark.parametrize("key", REQUIRED)
def test_a_missing_key_is_named(document: Any, key: str) -> None:
    holder, last = holder_of(document, key)
    del holder[last]
    assert problem_of(encoded(document)) == f"{key} is missing"


@pytest.mark.parametrize("key", SECTIONS)
def test_a_section_that_is_missing_means_its_own_defaults_and_changes_no_other(
    document: Any, key: str
) -> None:
    whole = msgspec.to_builtins(parse_settings(encoded(document)))
    holder, last = holder_of(document, key)
    del holder[last]
    found = msgspec.to_builtins(parse_settings(encoded(document)))
    defaults = msgspec.to_builtins(SettingsFile())
    holder_of(whole, key)[0][last] = holder_of(defaults, key)[0][last]
    assert found == whole


def test_a_broken_section_is_named_and_the_others_are_kept(document: Any) -> None:
    document["performance"]["maxThreads"] = "many"
    document["searchSettings"] = []
    sections = parse_settings_sections(encoded(document))
    assert sections.problems == {
        "performance": "performance.maxThreads must be a whole number, got text",
        "searchSettings": "searchSettings must be an object, got a list",
    }
    assert sections.file.performance == SettingsFile().performance
    assert sections.file.search_settings == SettingsFile().search_settings
    assert sections.file.conversation_settings.generation_models[0].name == "deepseek"
    assert not sections.has_index_sections


@pytest.mark.parametrize("key", ["searchSettings", "localModelManagement"])
def test_a_file_that_does_not_say_what_to_index_is_not_sure_of_it(document: Any, key: str) -> None:
    assert parse_settings_sections(encoded(document)).has_index_sections
    del document[key]
    sections = parse_settings_sections(encoded(document))
    assert sections.problems == {}
    assert not sections.has_index_sections


@pytest.mark.parametrize("key", OPTIONAL)
def test_an_optional_key_may_be_missing(document: Any, key: str) -> None:
    holder, last = holder_of(document, key)
    del holder[last]
    assert parse_settings(encoded(document)).search_settings.search_limit == 10


def test_flags_that_are_missing_are_false(document: Any) -> None:
    for key in OPTIONAL[:2] + OPTIONAL[3:4]:
        holder, last = holder_of(document, key)
        del holder[last]
    file = parse_settings(encoded(document))
    assert not file.search_settings.embedding_config.configs[0].is_selected
    assert not file.search_settings.rerank_config.configs[0].is_selected
    assert not file.conversation_settings.generation_models[0].needs_key


@pytest.mark.parametrize("key", [*REQUIRED, *OPTIONAL[:4]])
def test_a_value_of_the_wrong_kind_is_named(document: Any, key: str) -> None:
    holder, last = holder_of(document, key)
    wrong: Any = 7 if isinstance(holder[last], str | bool | dict | list) else "seven"
    holder[last] = wrong
    problem = problem_of(encoded(document))
    assert problem.startswith(f"{key} must be ")
    assert problem.endswith(f", got {'a whole number' if wrong == 7 else 'text'}")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ('"ten"', "searchSettings.searchLimit must be a whole number, got text"),
        ("1.5", "searchSettings.searchLimit must be a whole number, got a decimal number"),
        ("true", "searchSettings.searchLimit must be a whole number, got true or false"),
        ("null", "searchSettings.searchLimit must be a whole number, got null"),
        ("[]", "searchSettings.searchLimit must be a whole number, got a list"),
        ("{}", "searchSettings.searchLimit must be a whole number, got an object"),
        ("1e999", "searchSettings.searchLimit must be a number of reasonable size"),
        ("9" * 9999, "searchSettings.searchLimit must be a number of reasonable size"),
        ("NaN", "line 4, column 25: expected a number, and JSON has no NaN"),
        ("Infinity", "line 4, column 25: expected a number, and JSON has no Infinity"),
        ("-Infinity", "expected a number, and JSON has no -Infinity"),
        ("", "line 4, column 25: expected a value"),
        ("ten", "line 4, column 25: expected a value"),
        ("'10'", "line 4, column 25: expected a value"),
        ("01", "line 4, column 26: expected a comma or a closing bracket"),
        ("10 20", "line 4, column 28: expected a comma or a closing bracket"),
        ("10,,", "expected a key in double quotes"),
        ('"\\ud800"', "line 4"),
        ("/* open", "line 4, column 25: expected a value"),
    ],
)
def test_a_wrong_number_is_explained(value: str, problem: str) -> None:
    text = AS_DOCUMENTED.replace('"searchLimit" : 10', f'"searchLimit" : {value}')
    assert problem in problem_of(text.encode())


def test_an_unknown_model_type_lists_the_known_ones(document: Any) -> None:
    document["localModelManagement"]["models"][0]["type"] = "chat"
    assert problem_of(encoded(document)) == (
        "localModelManagement.models[0].type must be one of embedding, rerank, generation,"
        " got 'chat'"
    )


@pytest.mark.parametrize("size", [0, 2200, 2200.5, None])
def test_a_file_size_may_be_any_number_or_unknown(document: Any, size: float | None) -> None:
    document["localModelManagement"]["models"][0]["fileSize"] = size
    assert parse_settings(encoded(document)).local_model_management.models[0].file_size == size


@pytest.mark.parametrize(
    "key", ["cuda available", "coreML available", "cudaAvailable", "coreMLAvailable", "theme"]
)
@pytest.mark.parametrize("value", [True, "yes", None, {"a": [1]}, 1e300])
def test_keys_of_the_front_end_are_ignored_whatever_they_hold(
    document: Any, key: str, value: Any
) -> None:
    document["performance"][key] = value
    document[key] = value
    assert not parse_settings(encoded(document)).performance.use_cuda


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "the file is empty"),
        (b" \r\n\t", "the file is empty"),
        (b"\xef\xbb\xbf", "the file is empty"),
        (b"\xff\xfe", "the file is empty"),
        (b"// nothing\n/* at all */", "the file holds only comments"),
        (b"[]", "the file must be an object, got a list"),
        (b'"settings"', "the file must be an object, got text"),
        (b"null", "the file must be an object, got null"),
        (b"{", "line 1, column 2: expected a key in double quotes"),
        (b"\x89PNG\r\n\x1a\n\0\0", "byte 0 is not; save the file as UTF-8"),
        (b'{"a": "\xff"}', "byte 7 is not; save the file as UTF-8"),
        (b"\x7fELF\x02\x01\0\0", "got binary data; save the file as UTF-8"),
        ("{}".encode("utf-16-le"), "got binary data; save the file as UTF-8"),
        (b"\xff\xfe{", "save the file as UTF-8"),
        (b'{"a":' * 100_000, "nested too deep"),
        (b"[" * 100_000 + b"]" * 100_000, "the file must be an object, got a list"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deep"),
        (b'{"a": "\\ud800", "b":' + b"[" * 100_000, "nested too deep"),
    ],
)
def test_what_is_no_settings_file_is_refused_with_a_reason(content: bytes, problem: str) -> None:
    assert problem in problem_of(content)


def test_a_type_error_before_a_comment_is_still_a_type_error() -> None:
    text = '{"searchSettings": 1, // and so on\n}'
    assert problem_of(text.encode()) == "searchSettings must be an object, got a whole number"


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
    assert json.loads(settings_text.strip_comments(text)) == value


@pytest.mark.parametrize(
    "text", ["[,]", "{ ,}", "[ /* nothing */ ,]", "[1,,]", "[1 /* open ]", '["open]', "[1] /"]
)
def test_mistakes_stay_mistakes(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        json.loads(settings_text.strip_comments(text))


def test_every_other_character_keeps_its_line_and_column() -> None:
    text = '{\n  /* one\n     two */ "ключ": [1, // x\r\n 2, ], // y\n  "b": 3,\n}\n'
    stripped = settings_text.strip_comments(text)
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
    assert settings_text.strip_comments(text) == text


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
    assert len(settings_text.strip_comments(text)) == len(text)


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
    assert settings_text.decode_text(content) == '{"ü": 1}'


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
    assert settings_text.describe_syntax_error(text, None).startswith(problem)


def test_a_place_counts_characters_not_bytes() -> None:
    text = '{\n"ключ": NaN}'
    place = len(text[: text.index("NaN")].encode())
    assert settings_text.describe_syntax_error(text, place) == (
        "line 2, column 9: expected a number, and JSON has no NaN"
    )
