"""A settings file on disk to ``Settings``: strictly for the front end, forgivingly at start-up."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kernel.domain.settings import Settings
from kernel.errors import InvalidSettings
from kernel.protocol.settings_file import SettingsFile, parse
from kernel.protocol.settings_sections import Sections, parse_sections
from kernel.settings.box import default_settings
from kernel.settings.circumstances import HasKey, ReadHardware, unmet_needs
from kernel.settings.conversion import settings_from
from kernel.settings.endpoints import unsafe_endpoints
from kernel.settings.rules import broken_rules

_Parsed = TypeVar("_Parsed")

LARGEST_FILE = 16 * 1024 * 1024  # bytes; a thousand times the settings of a busy user


def check(path: Path, *, has_key: HasKey, hardware: ReadHardware) -> Settings:
    """Read ``path`` and hold it to every rule and circumstance.

    Raises ``InvalidSettings`` listing everything that is wrong, so that one correction is enough.
    """
    try:
        file = _read(path)
    except InvalidSettings as error:
        raise InvalidSettings(f"Failed in checking settings: {error}") from error
    problems = [*broken_rules(file), *unmet_needs(file, has_key=has_key, hardware=hardware)]
    if problems:
        raise InvalidSettings(f"Failed in checking settings: {'; '.join(map(str, problems))}")
    return settings_from(file)


def load(path: Path) -> tuple[Settings, list[str]]:
    """Read ``path`` as well as it can be read, with a warning where defaults had to do.

    They stand in for a section that breaks a rule or is no section, not for the others.

    Quick, because start-up waits for it: whether the machine offers what the file asks for is the
    question of ``needs``. A file that asks for too much is kept all the same: an unplugged disk
    must not make a configuration vanish, nor its index.
    """
    try:
        sections = _read_sections(path)
    except InvalidSettings as error:
        return default_settings(), [f"{error}; the default settings are used"]
    warnings = [
        f"{path.name}: {problem}; the defaults of {name} are used"
        for name, problem in sections.problems.items()
    ]
    return settings_from(sections.file), warnings


def is_sure_of_index(path: Path) -> bool:
    """Whether what ``load`` found there says itself what to index; else nothing is deleted."""
    try:
        return _read_sections(path).is_sure_of_index
    except InvalidSettings:
        return False


def needs(path: Path, *, has_key: HasKey, hardware: ReadHardware) -> list[str]:
    """What a file asks for and this machine does not offer now; may load the runtime."""
    try:
        file = _read_sections(path).file
    except InvalidSettings:
        return []
    unmet = unmet_needs(file, has_key=has_key, hardware=hardware)
    return [f"{path.name}: {need}" for need in unmet]


def warnings_of(path: Path, *, has_key: HasKey) -> list[str]:
    """What a file may ask for and a person should know of; empty for one that cannot be read."""
    try:
        file = _read_sections(path).file
    except InvalidSettings:
        return []
    return unsafe_endpoints(file.conversation_settings.generation_model, has_key)


def _read(path: Path) -> SettingsFile:
    return _parsed(path, parse)


def _read_sections(path: Path) -> Sections:
    """The sections that can be used; one that breaks a rule may be what another one refers to."""
    sections = _parsed(path, parse_sections)
    while broken := broken_rules(sections.file):
        by_section: dict[str, list[str]] = {}
        for problem in broken:
            by_section.setdefault(problem.key.partition(".")[0], []).append(str(problem))
        sections = sections.without({name: "; ".join(of) for name, of in by_section.items()})
    return sections


def _parsed(path: Path, parsed: Callable[[bytes], _Parsed]) -> _Parsed:
    try:
        content = _content(path)
    except FileNotFoundError as error:
        raise InvalidSettings(
            f"there is no file {path}, which the front end should have written"
        ) from error
    except OSError as error:
        raise InvalidSettings(f"cannot read {path}: {error.strerror or error}") from error
    try:
        return parsed(content)
    except InvalidSettings as error:
        raise InvalidSettings(f"{path.name}: {error}") from error


def _content(path: Path) -> bytes:
    if path.exists() and not path.is_file():  # opening a pipe would wait for its writer for ever
        raise InvalidSettings(f"cannot read {path}: it is not a file")
    with path.open("rb") as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise InvalidSettings(f"cannot read {path}: it is larger than {LARGEST_FILE} bytes")
    return content
