"""``codekernel agent PROMPT``: an agent at work in a terminal; programs get lines instead."""

import argparse
import json
import logging
import os
import signal
import sys
from contextlib import closing
from typing import Never

from kernel.agent.danger import Wish
from kernel.agent.events import Failed, Finished
from kernel.agent.threaded import AgentThread, Question
from kernel.cli.agent_lines import DONE, FAILED, INTERRUPTED, agent_lines
from kernel.cli.agent_setting import Prepared, prepared
from kernel.cli.agent_stream import followed
from kernel.cli.agent_undo import agent_undo
from kernel.cli.agent_view import AgentView
from kernel.cli.ask_output import Output
from kernel.cli.search_streams import say, speak_utf_8
from kernel.cli.search_terminal import screen_of
from kernel.cli.serve import ONE_THREAD
from kernel.domain.cancel import CancelToken
from kernel.domain.terminal_text import escape_line
from kernel.errors import KernelError


def agent(chosen: argparse.Namespace) -> int:
    """Run the agent and end the process: 0 if it has answered, 1 if not, 130 if it was stopped."""
    for name, value in ONE_THREAD.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    if chosen.undo is not None:
        return agent_undo(chosen)
    try:
        code = agent_lines(chosen) if chosen.stdio or chosen.uap else _in_terminal(chosen)
    except KeyboardInterrupt:
        code = INTERRUPTED
    # A tool that was given up may still be at work on a thread, and what is on disk is whole.
    os._exit(code)


def _in_terminal(chosen: argparse.Namespace) -> int:
    logging.getLogger().addHandler(logging.NullHandler())  # what matters is said, not logged
    speak_utf_8(sys.stdout)
    cancel = CancelToken()
    thread: AgentThread[Never] = AgentThread(cancel)
    somebody_is_there = sys.stdin.isatty() and sys.stderr.isatty()
    try:
        with prepared(chosen, cancel, thread.ask if somebody_is_there else None) as agent:
            _greet(agent)
            return _followed(chosen, thread, agent, cancel)
    except KernelError as error:
        say(str(error))
        return FAILED


def _greet(agent: Prepared) -> None:
    if agent.unknown:
        say(f"there are no tools called {', '.join(agent.unknown)}")
    say(f"session {agent.session.id}{' goes on' if agent.resumed else ''}")


def _followed(
    chosen: argparse.Namespace, thread: AgentThread[Never], agent: Prepared, cancel: CancelToken
) -> int:
    output = Output(sys.stdout)
    screen = screen_of(sys.stderr, os.environ, plain=chosen.no_color)
    view = AgentView(output.write, sys.stderr, screen)
    code = FAILED
    coming = followed(thread, agent.loop.events(" ".join(chosen.prompt), cancel), cancel)
    with closing(coming) as events:
        for event in events:
            if isinstance(event, Question):
                event.answer(allowed=_allowed(event.wish, cancel))
            elif event is not None:
                view.show(event)
            if output.closed:
                cancel.cancel()
            if isinstance(event, Finished):
                code = DONE
            elif isinstance(event, Failed):
                code = INTERRUPTED if cancel.cancelled else FAILED
    return code


def _allowed(wish: Wish, cancel: CancelToken) -> bool:
    """What the person says; Ctrl-C instead of an answer stops the agent."""
    given = wish.arguments
    told = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
    wanted = f"{wish.tool} {wish.danger}: {told}"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sys.stderr.write(f"codekernel: {escape_line(wanted)}\nAllow it? [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in {"y", "yes", "j", "ja", "是"}
    except KeyboardInterrupt:
        cancel.cancel()
        return False
    finally:
        signal.signal(signal.SIGINT, before)
