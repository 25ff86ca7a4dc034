"""Choose a chat model of the settings, or say how to set one up."""

from pathlib import Path

from codekernel.domain.settings import ModelKind, Settings
from codekernel.errors import NetworkError

_EXAMPLE_MODEL = (
    '{ "name": "deepseek", "modelName": "deepseek-chat", "url": "https://api.deepseek.com",'
    ' "setApiKey": true }'
)

_EXAMPLE_SETTINGS = (
    '{ "searchSettings": { "searchLimit": 10, "embeddingConfig": { "configs": [] },'
    ' "rerankConfig": { "configs": [] } }, "localModelManagement": { "models": [] },'
    f' "conversationSettings": {{ "generationModel": [{_EXAMPLE_MODEL}], "historyLength": 1000 }},'
    ' "performance": { "maxThreads": 0, "useCuda": false, "useCoreML": false } }'
)


def choose_model(settings: Settings, model_name: str | None, settings_file: Path) -> str:
    """Return the named chat model, else the first of the settings.

    Raises NetworkError, which says how to set one up, if there is none.
    """
    if model_name:
        return model_name
    names = [
        *(model.name for model in settings.generation_models),
        *(model.name for model in settings.local_models if model.kind is ModelKind.GENERATION),
    ]
    if not names:
        raise NetworkError(f"no chat model is set up. {describe_model_setup(settings_file)}")
    return names[0]


def describe_model_setup(settings_file: Path) -> str:
    """Describe how to set up a chat model."""
    where, example = f"Write one into {settings_file}", _EXAMPLE_SETTINGS
    if settings_file.exists():
        where = f"Add one to conversationSettings.generationModel in {settings_file}"
        example = _EXAMPLE_MODEL
    return (
        f"{where}, such as {example}; any OpenAI-compatible endpoint will do, or Ollama."
        " Then store its key, if it needs one: codekernel key set deepseek"
    )
