"""settings.json: its keys as the front end's document spells them, and why a file is not one.

A section that is not there means the defaults of that section, and says nothing of the others.
Keys that only a front end uses, the "available" flags among them, are unknown here and ignored.
"""

import re
from typing import Any

import msgspec

from kernel.domain.settings import ModelKind, Settings
from kernel.errors import InvalidSettings
from kernel.protocol import jsonc


class _Section(msgspec.Struct, frozen=True, rename="camel"):
    """What every object of the file has in common."""


class EmbeddingConfigEntry(_Section, frozen=True):
    """An element of ``searchSettings.embeddingConfig.configs``."""

    name: str
    model_name: str
    input_length: int
    selected: bool = False


class EmbeddingSection(_Section, frozen=True):
    """``searchSettings.embeddingConfig``; no configs mean those that come with us."""

    configs: list[EmbeddingConfigEntry]


class RerankConfigEntry(_Section, frozen=True):
    """An element of ``searchSettings.rerankConfig.configs``."""

    model_name: str
    selected: bool = False


class RerankSection(_Section, frozen=True):
    """``searchSettings.rerankConfig``."""

    configs: list[RerankConfigEntry]


class SearchSection(_Section, frozen=True):
    """``searchSettings``."""

    search_limit: int
    embedding_config: EmbeddingSection = EmbeddingSection(configs=[])
    rerank_config: RerankSection = RerankSection(configs=[])


class LocalModelEntry(_Section, frozen=True):
    """An element of ``localModelManagement.models``."""

    name: str
    path: str
    type: ModelKind
    # null is what JavaScript writes for a size it could not calculate
    file_size: float | None = None


class LocalModelSection(_Section, frozen=True):
    """``localModelManagement``."""

    models: list[LocalModelEntry]


class GenerationModelEntry(_Section, frozen=True):
    """An element of ``conversationSettings.generationModel``."""

    name: str
    model_name: str
    url: str
    set_api_key: bool = False
    # Not in the front end's document: prices per million tokens, and how much the model can read.
    input_price: float | None = None
    output_price: float | None = None
    context_tokens: int | None = None


class ConversationSection(_Section, frozen=True):
    """``conversationSettings``."""

    generation_model: list[GenerationModelEntry]
    history_length: int
    # Not in the front end's document.
    max_rounds: int = 3
    summarize_history: bool = False


class PerformanceSection(_Section, frozen=True):
    """``performance``."""

    max_threads: int
    use_cuda: bool
    use_coreml: bool = msgspec.field(name="useCoreML")
    # Not in the front end's document: texts are embedded only while there is mains power.
    pause_on_battery: bool = False


_DEFAULTS = Settings()


class SettingsFile(_Section, frozen=True):
    """The whole file."""

    search_settings: SearchSection = SearchSection(search_limit=_DEFAULTS.search_limit)
    local_model_management: LocalModelSection = LocalModelSection(models=[])
    conversation_settings: ConversationSection = ConversationSection(
        generation_model=[], history_length=_DEFAULTS.history_length
    )
    performance: PerformanceSection = PerformanceSection(
        max_threads=0, use_cuda=False, use_coreml=False
    )


def parse(content: bytes) -> SettingsFile:
    """Decode settings.json, tolerating comments, trailing commas and Windows encodings.

    Raises ``InvalidSettings`` naming the line and column, or the key, and what was expected there.
    """
    try:
        text = jsonc.text_of(content)
    except UnicodeDecodeError as error:
        raise InvalidSettings(
            f"expected text in UTF-8, but byte {error.start} is not; save the file as UTF-8"
        ) from error
    if "\0" in text:
        raise InvalidSettings("expected text in UTF-8, got binary data; save the file as UTF-8")
    if not text.strip():
        raise InvalidSettings("expected a JSON object, but the file is empty")
    try:
        return _decode_leniently(text)
    except RecursionError as error:
        raise InvalidSettings("expected settings, got lists or objects nested too deep") from error


def _decode_leniently(text: str) -> SettingsFile:
    try:
        return _decode(text)
    except _MalformedError:
        stripped = jsonc.strip(text)
    if not stripped.strip():
        raise InvalidSettings("expected a JSON object, but the file holds only comments")
    try:
        return _decode(stripped)
    except _MalformedError as error:
        raise InvalidSettings(jsonc.syntax_problem(stripped, error.byte)) from error


class _MalformedError(Exception):
    """The text is not strict JSON; ``byte`` says where, unless it ends too early."""

    def __init__(self, byte: int | None) -> None:
        super().__init__(byte)
        self.byte = byte


_DECODER = msgspec.json.Decoder(SettingsFile)
_BYTE = re.compile(r"\(byte (\d+)\)")


def _decode(text: str) -> SettingsFile:
    try:
        return _DECODER.decode(text)
    except msgspec.ValidationError as error:
        raise InvalidSettings(_shape_problem(str(error))) from error
    except msgspec.DecodeError as error:
        place = _BYTE.search(str(error))
        raise _MalformedError(int(place[1]) if place else None) from error


_SHAPE = re.compile(r"(?P<fact>.*?)(?: - at `\$\.?(?P<key>.*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
_MISMATCH = re.compile(r"Expected `(.*)`, got `(.*)`")
_WORDS = {
    "int": "a whole number",
    "float": "a decimal number",
    "float | null": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}


def _shape_problem(message: str) -> str:
    """Put msgspec's sentence into the words of somebody who edits the file."""
    shape: Any = _SHAPE.fullmatch(message)
    fact, key = shape["fact"], shape["key"] or ""
    if missing := _MISSING.fullmatch(fact):
        return f"{'.'.join(filter(None, (key, missing[1])))} is missing"
    subject = key or "the file"
    if mismatch := _MISMATCH.fullmatch(fact):
        expected, found = (_WORDS.get(word, word) for word in mismatch.groups())
        return f"{subject} must be {expected}, got {found}"
    if fact.startswith("Invalid enum value"):
        kinds = ", ".join(kind.value for kind in ModelKind)
        return f"{subject} must be one of {kinds}, got {fact.removeprefix('Invalid enum value ')}"
    if fact.endswith("out of range"):
        return f"{subject} must be a number of reasonable size, got one that is out of range"
    return f"{subject}: {fact}"
