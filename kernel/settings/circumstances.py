"""What settings.json needs from the machine of the moment: folders, stored keys, accelerators.

Such a problem is no fault of the file and may be gone tomorrow: a disk comes back, a driver too.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel.domain.hardware import Hardware
from kernel.errors import KernelError
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
