"""What the language models of one repository have been paid to read and write."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Tokens of one model, summed; ``model_name`` is the name the endpoint knows."""

    model_name: str
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class DayUsage:
    """Tokens of one model on one day, which is written as 2026-01-31."""

    model_name: str
    day: str
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in whatever currency the user thinks in."""

    per_million_input: float
    per_million_output: float

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """What so many tokens cost."""
        return (
            input_tokens * self.per_million_input + output_tokens * self.per_million_output
        ) / 1_000_000
