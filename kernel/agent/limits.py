"""How long a tool may take and how much it may say."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and sizes, one set for all tools of a context."""

    # For looking through files; a command has its own.
    seconds: float = 20.0
    command_seconds: float = 120.0
    # A command may ask for more than that, up to here.
    most_command_seconds: float = 3_600.0
    # What a model can be told at once; a file that is longer is read in windows.
    output_characters: int = 1_000_000
    # Of what a command or a terminal says, the end is kept.
    command_characters: int = 60_000
    # Files that are larger are neither loaded nor edited.
    file_bytes: int = 32 * 1024 * 1024
    matches: int = 2_000
    terminals: int = 16
