"""What settings.json needs from the machine of the moment: folders, stored keys, accelerators.

Such a problem is no fault of the file and may be gone tomorrow: a disk comes back, a driver too.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel.domain.hardware import Hardware
from kernel.errors import InvalidModel, KernelError
from kernel.protocol.settings_file import SettingsFile

HasKey = Callable[[str], bool]
ReadHardware = Callable[[], Hardware]


@dataclass(frozen=True, slots=True)
class Circumstance:
    """A key that cannot be honoured now; ``reason`` is a sentence of its own."""

    key: str
    reason: str

    def __str__(self) -> str:
        return f"{self.key}: {self.reason}"


def unmet_needs(
    file: SettingsFile, *, has_key: HasKey, hardware: ReadHardware
) -> list[Circumstance]:
    """Everything the file asks for and this machine does not offer now."""
    return [
        *_missing_folders(file),
        *_missing_models(file),
        *_missing_keys(file, has_key),
        *_missing_accelerators(file, hardware),
    ]


def _missing_folders(file: SettingsFile) -> Iterator[Circumstance]:
    for index, model in enumerate(file.local_model_management.models):
        key = f"localModelManagement.models[{index}].path"
        path = Path(model.path)
        if not path.is_absolute():
            continue  # a rule says so; where a relative path leads is chance
        try:
            if not path.is_dir():
                yield Circumstance(key, f"there is no folder {path}")
        except OSError as error:
            yield Circumstance(key, f"cannot look into {path}: {error.strerror or error}")


def _missing_models(file: SettingsFile) -> Iterator[Circumstance]:
    """Folders of selected models that are there and hold none; each is named with what it lacks."""
    search = file.search_settings
    selected = [
        *(
            ("embeddingConfig", entry.model_name, entry.selected, index)
            for index, entry in enumerate(search.embedding_config.configs)
        ),
        *(
            ("rerankConfig", entry.model_name, entry.selected, index)
            for index, entry in enumerate(search.rerank_config.configs)
        ),
    ]
    paths = {entry.name: Path(entry.path) for entry in file.local_model_management.models}
    reasons: dict[Path, str] = {}
    for section, name, is_selected, index in selected:
        path = paths.get(name)
        if not is_selected or path is None or not path.is_absolute() or not _is_folder(path):
            continue  # the models that come with us are whole, and a missing folder is said above
        if path not in reasons:
            reasons[path] = _what_is_missing(path)
        if reasons[path]:
            key = f"searchSettings.{section}.configs[{index}].modelName"
            yield Circumstance(key, f'"{name}" cannot be used: {reasons[path]}')


def _what_is_missing(path: Path) -> str:
    from kernel.inference.model_folder import read_model_folder  # noqa: PLC0415 - seldom needed
    from kernel.inference.tokenizer_files import find_tokenizer  # noqa: PLC0415

    try:
        read_model_folder(path)
        find_tokenizer(path)
    except InvalidModel as error:
        return str(error)
    except (OSError, ValueError) as error:
        return f"cannot look into {path}: {error}"
    return ""


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _missing_keys(file: SettingsFile, has_key: HasKey) -> Iterator[Circumstance]:
    for index, model in enumerate(file.conversation_settings.generation_model):
        if not model.set_api_key:
            continue
        key = f"conversationSettings.generationModel[{index}].setApiKey"
        try:
            if not has_key(model.name):
                yield Circumstance(
                    key, f'no API key is stored under "{model.name}", send setApiKey first'
                )
        except (KernelError, OSError) as error:
            yield Circumstance(key, f"cannot tell whether an API key is stored: {error}")


def _missing_accelerators(file: SettingsFile, hardware: ReadHardware) -> Iterator[Circumstance]:
    cuda = ("performance.useCuda", "CUDA")
    coreml = ("performance.useCoreML", "CoreML")
    wanted = [cuda] * file.performance.use_cuda + [coreml] * file.performance.use_coreml
    if not wanted:
        return  # asking the hardware loads the inference runtime
    try:
        found = hardware()
    except (KernelError, OSError) as error:
        for key, name in wanted:
            yield Circumstance(key, f"cannot tell whether {name} works here: {error}")
        return
    works = {cuda: found.cuda, coreml: found.coreml}
    for key, name in wanted:
        if not works[key, name]:
            yield Circumstance(key, f"{name} is not available on this machine")
