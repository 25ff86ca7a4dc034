"""A settings file on disk to ``Settings``: strictly for the front end, forgivingly at start-up."""

from pathlib import Path

from kernel.domain.settings import Settings
from kernel.errors import InvalidSettings
from kernel.protocol.settings_file import SettingsFile, parse
from kernel.settings.box import default_settings
from kernel.settings.circumstances import HasKey, ReadHardware, unmet_needs
from kernel.settings.conversion import settings_from
from kernel.settings.rules import broken_rules

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
    """Read ``path`` as well as it can be read, with a warning if the defaults had to do.

    Quick, because start-up waits for it: whether the machine offers what the file asks for is the
    question of ``needs``. A file that asks for too much is kept all the same: an unplugged disk
    must not make a configuration vanish, nor its index.
    """
    try:
        file = _read(path)
    except InvalidSettings as error:
        return default_settings(), [f"{error}; the default settings are used"]
    broken = broken_rules(file)
    if broken:
        listed = "; ".join(map(str, broken))
        return default_settings(), [f"{path.name}: {listed}; the default settings are used"]
    return settings_from(file), []


def needs(path: Path, *, has_key: HasKey, hardware: ReadHardware) -> list[str]:
    """What a valid file asks for and this machine does not offer now; may load the runtime."""
    try:
        file = _read(path)
    except InvalidSettings:
        return []
    unmet = unmet_needs(file, has_key=has_key, hardware=hardware)
    return [f"{path.name}: {need}" for need in unmet]


def _read(path: Path) -> SettingsFile:
    try:
        content = _content(path)
    except FileNotFoundError as error:
        raise InvalidSettings(
            f"there is no file {path}, which the front end should have written"
        ) from error
    except OSError as error:
        raise InvalidSettings(f"cannot read {path}: {error.strerror or error}") from error
    try:
        return parse(content)
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
