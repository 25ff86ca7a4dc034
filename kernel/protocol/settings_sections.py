"""settings.json section by section: what is wrong in one leaves the others as they are."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from kernel.errors import InvalidSettings
from kernel.protocol import jsonc
from kernel.protocol.settings_file import SettingsFile, parse

# On the word of these an index is made, and vectors are deleted.
_OF_INDEX = frozenset({"searchSettings", "localModelManagement"})
_FIELDS = {each.encode_name: each.name for each in msgspec.structs.fields(SettingsFile)}


@dataclass(frozen=True, slots=True)
class Sections:
    """The file with the defaults of each section that cannot be used, and why it cannot."""

    file: SettingsFile
    problems: dict[str, str] = field(default_factory=dict)
    # Whether the file itself says what is to be indexed, and how.
    is_sure_of_index: bool = True

    def without(self, problems: dict[str, str]) -> "Sections":
        """The same with the defaults of further sections."""
        defaults = SettingsFile()
        names = [_FIELDS[name] for name in problems]
        file = msgspec.structs.replace(
            self.file, **{name: getattr(defaults, name) for name in names}
        )
        return Sections(file, self.problems | problems, is_sure_of_index=False)


def parse_sections(content: bytes) -> Sections:
    """Decode what can be decoded. Raises ``InvalidSettings`` if the whole is no JSON object."""
    try:
        file = parse(content)
    except InvalidSettings:
        document = _document(content)
    else:
        return Sections(file, is_sure_of_index=set(_document(content)) >= _OF_INDEX)
    good: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for name in _FIELDS.keys() & document.keys():
        try:
            parse(msgspec.json.encode({name: document[name]}))
        except InvalidSettings as error:
            problems[name] = str(error)
        else:
            good[name] = document[name]
    return Sections(parse(msgspec.json.encode(good)), problems, is_sure_of_index=False)


def _document(content: bytes) -> dict[str, Any]:
    """The object in the file, whatever it holds; raises InvalidSettings as ``parse`` does."""
    document: object = None
    try:
        text = jsonc.text_of(content)
        try:
            document = msgspec.json.decode(text)
        except msgspec.DecodeError:
            document = msgspec.json.decode(jsonc.strip(text))
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        pass
    if isinstance(document, dict):
        return document
    parse(content)  # which says what is wrong with it
    raise InvalidSettings("expected a JSON object")
