"""Which chat model a question goes to, and what to do where there is none."""

from pathlib import Path

from kernel.domain.settings import ModelKind, Settings
from kernel.domain.usage import Price
from kernel.errors import NetworkError

_EXAMPLE = (
    '{ "name": "deepseek", "modelName": "deepseek-chat", "url": "https://api.deepseek.com",'
    ' "setApiKey": true }'
)
_WHOLE_FILE = (
    '{ "searchSettings": { "searchLimit": 10, "embeddingConfig": { "configs": [] },'
    ' "rerankConfig": { "configs": [] } }, "localModelManagement": { "models": [] },'
    f' "conversationSettings": {{ "generationModel": [{_EXAMPLE}], "historyLength": 1000 }},'
    ' "performance": { "maxThreads": 0, "useCuda": false, "useCoreML": false } }'
)


def model_names(settings: Settings) -> list[str]:
    """What can be asked, in the order of the settings."""
    return [
        *(model.name for model in settings.generation_models),
        *(model.name for model in settings.local_models if model.kind is ModelKind.GENERATION),
    ]


def chosen_model(settings: Settings, named: str | None, settings_file: Path) -> str:
    """The model named, else the first there is. Raises NetworkError with what to do."""
    if named:
        return named
    names = model_names(settings)
    if not names:
        raise NetworkError(f"no chat model is set up. {how_to_add(settings_file)}")
    return names[0]


def how_to_add(settings_file: Path) -> str:
    """How to set up a chat model, for whoever has none."""
    then = "Then store its key, if it needs one: codekernel key set deepseek"
    if settings_file.exists():
        return (
            f"Add one to conversationSettings.generationModel in {settings_file}, such as"
            f" {_EXAMPLE}; any OpenAI-compatible endpoint will do, or Ollama. {then}"
        )
    return (
        f"Write one into {settings_file}, such as {_WHOLE_FILE}; any OpenAI-compatible endpoint"
        f" will do, or Ollama. {then}"
    )


def price_of(settings: Settings, model: str) -> Price | None:
    """What the settings say that a model costs."""
    for each in settings.generation_models:
        priced = each.input_price is not None or each.output_price is not None
        if model in {each.name, each.model_name} and priced:
            return Price(each.input_price or 0.0, each.output_price or 0.0)
    return None
