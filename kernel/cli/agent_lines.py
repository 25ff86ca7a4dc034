"""``codekernel agent --stdio`` and ``--uap``: an agent for programs, only lines on stdout."""

import argparse
from collections.abc import Iterable
from contextlib import closing
from typing import Never, Protocol

from kernel import logs
from kernel.agent.events import AgentEvent, Failed, Finished
from kernel.agent.threaded import AgentThread, Question
from kernel.cli.agent_setting import Prepared, prepared
from kernel.cli.agent_stream import followed
from kernel.cli.search_streams import say
from kernel.domain.cancel import CancelToken
from kernel.doors.tricode import messages as tricode
from kernel.doors.tricode.telling import Telling, greeting
from kernel.doors.uap.lines import UapLines
from kernel.errors import KernelError
from kernel.transport.descriptors import Wire, claim

DONE, FAILED, INTERRUPTED = 0, 1, 130


class Voice(Protocol):
    """How an agent's work is written down for a program."""

    def greeting(self, session: str, *, resumed: bool, unknown: Iterable[str]) -> Iterable[bytes]:
        """What is said before anything happens."""

    def lines(self, event: AgentEvent | None) -> Iterable[bytes]:
        """What is said of an event, or of a moment in which nothing happens."""

    def error(self, message: str) -> bytes:
        """The line for an agent that cannot begin."""


def agent_lines(chosen: argparse.Namespace) -> int:
    """Run the agent; 0 if it has answered, 1 if not, 130 if it was stopped."""
    wire = claim()
    logs.to_stderr()
    voice = voice_of(uap=chosen.uap, partial=chosen.partial)
    try:
        return _run(wire, voice, chosen)
    except KernelError as error:
        wire.write(voice.error(str(error)))
    except OSError:  # whoever started us is gone
        pass
    except Exception as error:
        wire.write(voice.error(f"The agent stopped unexpectedly ({type(error).__name__})."))
        raise
    return FAILED


def voice_of(*, uap: bool, partial: bool = False) -> Voice:
    """The protocol that was asked for."""
    return UapLines(partial=partial) if uap else _Tricode()


def _run(wire: Wire, voice: Voice, chosen: argparse.Namespace) -> int:
    cancel = CancelToken()
    with prepared(chosen, cancel, None) as agent:
        if chosen.uap:  # whose messages have no place for it
            say(f"session {agent.session.id}")
        _greet(wire, voice, agent)
        code = FAILED
        thread: AgentThread[Never] = AgentThread(cancel)
        coming = followed(thread, agent.loop.events(" ".join(chosen.prompt), cancel), cancel)
        with closing(coming) as events:
            for event in events:
                if isinstance(event, Question):  # nobody is asked here
                    event.answer(allowed=False)
                    continue
                if isinstance(event, Finished):
                    code = DONE
                elif isinstance(event, Failed):
                    code = INTERRUPTED if cancel.cancelled else FAILED
                for line in voice.lines(event):
                    wire.write(line)
        return code


def _greet(wire: Wire, voice: Voice, agent: Prepared) -> None:
    for line in voice.greeting(agent.session.id, resumed=agent.resumed, unknown=agent.unknown):
        wire.write(line)


class _Tricode:
    """Document 001."""

    def __init__(self) -> None:
        self._telling = Telling()

    def greeting(self, session: str, *, resumed: bool, unknown: Iterable[str]) -> Iterable[bytes]:
        """The session's id, and which tools nobody knows."""
        yield tricode.as_line(greeting(session, resumed=resumed))
        if names := ", ".join(unknown):
            yield tricode.as_line(tricode.system(f"Unknown tools left out: {names}"))

    def lines(self, event: AgentEvent | None) -> Iterable[bytes]:
        """One line for each message."""
        return map(tricode.as_line, self._telling.messages(event) if event is not None else ())

    def error(self, message: str) -> bytes:
        """An error line."""
        return tricode.as_line(tricode.error(message))
