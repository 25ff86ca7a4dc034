"""What a person sees of an agent: its words on stdout, what it does beside them on stderr."""

from collections.abc import Callable, Mapping
from typing import Any, TextIO

from kernel.agent.events import (
    AgentEvent,
    Failed,
    Finished,
    Reminded,
    TextPart,
    ToolCalled,
    ToolReturned,
)
from kernel.agent.formatted import formatted_call, formatted_result
from kernel.cli.safe_streams import write_styled
from kernel.cli.search_terminal import FAINT, Screen
from kernel.domain.terminal_text import escape_line, escape_text

_FAILED = "31"
# Characters of a call or a result in its line.
_LONGEST = 200


class AgentView:
    """Shows events one by one; nothing of a model or a file can command the terminal."""

    def __init__(self, write: Callable[[str], None], beside: TextIO, screen: Screen) -> None:
        self._write = write
        self._beside = beside
        self._screen = screen
        self._arguments: dict[str, Mapping[str, Any]] = {}
        self._in_line = False

    def show(self, event: AgentEvent) -> None:
        """Show it at once; thoughts and rounds are not shown."""
        match event:
            case TextPart(text):
                self._write(escape_text(text))
                self._in_line = not text.endswith("\n")
            case ToolCalled(name, tool, arguments):
                self._arguments[name] = arguments
                self._note(formatted_call(tool, arguments))
            case ToolReturned(name, tool, outcome):
                given = self._arguments.pop(name, {})
                success = outcome.success
                short = formatted_result(tool, given, outcome.text, success=success)
                self._note(f"  {short}", FAINT if success else _FAILED)
            case Reminded(text):
                self._note(text)
            case Finished():
                self._end_line()
            case Failed(message):
                self._note(f"codekernel: {message}", "", len(message) + _LONGEST)

    def _note(self, text: str, colour: str = FAINT, longest: int = _LONGEST) -> None:
        self._end_line()
        line = text if "\n" not in text else text.replace("\n", " ")
        shown = escape_line(line if len(line) <= longest else f"{line[:longest]}...")
        write_styled(self._beside, f"{self._screen.painted(shown, colour)}\n")
        self._beside.flush()

    def _end_line(self) -> None:
        if self._in_line:
            self._write("\n")
            self._in_line = False
