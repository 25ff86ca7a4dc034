"""What the language models of one repository have been paid to read and write."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Tokens of one model, summed; ``model_name`` is the name the endpoint knows."""

    model_name: str
    input_tokens: int
    output_tokens: int
