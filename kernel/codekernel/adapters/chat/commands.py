"""Slash commands of a chat: parse one, run it, and return what a platform shows.

A reply is Markdown with choices; a choice is a command again, which a platform shows as a button.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from codekernel.adapters.chat.bindings import ChatBinding, ChatBindings
from codekernel.adapters.chat.repository_queries import RepositoryQueries
from codekernel.adapters.chat.session_feed import (
    describe_session,
    format_session,
    get_folder_name,
    label_session,
)
from codekernel.adapters.chat.turns import ChatTurn, TurnWindow
from codekernel.adapters.hub.service import HubSessions
from codekernel.domain.agent_sessions import (
    Actor,
    AgentSessionRecord,
    MachineRecord,
    NewSession,
    PermissionMode,
)
from codekernel.errors import KernelError, SessionNotFound, WrongParam

COMMAND_PREFIX = "/"

# More do not fit on a telephone; the page lists all.
MAX_LISTED_SESSIONS = 10

MAX_LISTED_FOLDERS = 30

MAX_HISTORY_TURNS = 5

# Enough for the turns above in almost every session.
_HISTORY_MESSAGES = 200

MAX_NAME_CHARS = 100

COMMANDS: Final = {
    "sessions": "list the sessions",
    "switch": "follow another session: /switch ID",
    "new": "start a session: /new REPOSITORY [AGENT]",
    "repos": "list the repositories",
    "stop": "stop what the agent does",
    "mode": "what the agent may do: /mode ask or /mode read-only",
    "history": "show the last turns: /history [N]",
    "rename": "name the session: /rename NAME",
    "archive": "put the session away",
    "ask": "ask about the code, without an agent: /ask QUESTION",
    "search": "search the code: /search WORDS",
    "notices": "only notices, no content: /notices on or off",
    "help": "list the commands",
}

_ALIASES: Final = {"s": "sessions", "sw": "switch", "h": "history", "start": "help"}

# These take seconds or minutes, and are run on a thread of their own.
SLOW_COMMANDS: Final = frozenset({"ask", "search"})

_MODES: Final = {
    "ask": PermissionMode.ASK,
    "default": PermissionMode.ASK,
    "read-only": PermissionMode.READ_ONLY,
}


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A command and what follows it."""

    name: str
    argument: str = ""

    @property
    def is_slow(self) -> bool:
        """Whether it takes long enough to be run beside others."""
        return self.name in SLOW_COMMANDS


@dataclass(frozen=True, slots=True)
class CommandChoice:
    """A command that is offered, and its label."""

    label: str
    command: str


@dataclass(frozen=True, slots=True)
class CommandReply:
    """What is shown for a command: Markdown, choices, and turns of a session."""

    markdown: str
    choices: tuple[CommandChoice, ...] = ()
    turns: tuple[ChatTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandCaller:
    """Who gave a command, where, and its unique id, by which it has its effect once."""

    chat_id: str
    actor: Actor
    event_id: str


def parse_command(text: str, bot_name: str = "") -> ChatCommand | None:
    """Parse ``/name@bot argument``; None if it is no command, or one for another bot."""
    stripped = text.strip()
    if not stripped.startswith(COMMAND_PREFIX):
        return None
    words = stripped[len(COMMAND_PREFIX) :].split(maxsplit=1)
    if not words:
        return None
    name, _, addressee = words[0].partition("@")
    if addressee and addressee.lower() != bot_name.lower():
        return None
    name = name.lower()
    return ChatCommand(_ALIASES.get(name, name), words[1].strip() if len(words) > 1 else "")


class ChatCommands:
    """Runs commands; safe to use from any thread."""

    def __init__(
        self, sessions: HubSessions, bindings: ChatBindings, queries: RepositoryQueries
    ) -> None:
        self._sessions = sessions
        self._bindings = bindings
        self._queries = queries
        self._actions: dict[str, Callable[[str, CommandCaller], CommandReply]] = {
            "sessions": self._list_sessions,
            "switch": self._switch,
            "new": self._start_session,
            "repos": self._list_repositories,
            "stop": self._stop,
            "mode": self._set_mode,
            "history": self._show_history,
            "rename": self._rename,
            "archive": self._archive,
            "ask": self._ask,
            "search": self._search,
            "notices": self._set_notices,
            "help": lambda _argument, _caller: format_help(),
        }

    def run(self, command: ChatCommand, caller: CommandCaller) -> CommandReply:
        """Run a command; what cannot be done is said in the reply."""
        action = self._actions.get(command.name)
        if action is None:
            return CommandReply(f"There is no command /{command.name}. {format_help().markdown}")
        try:
            return action(command.argument, caller)
        except KernelError as error:
            return CommandReply(str(error) or "That failed; see the log of the hub.")

    def get_session(self, chat_id: str) -> AgentSessionRecord | None:
        """Return the session that a chat follows; None if there is none any more."""
        session_id = self._bindings.get_chat(chat_id).session_id
        if not session_id:
            return None
        try:
            return self._sessions.get_session(session_id)
        except SessionNotFound:
            return None

    def describe_unbound(self) -> CommandReply:
        """Return what is said in a chat that follows no session."""
        sessions = self._list_open_sessions()
        if sessions:
            return CommandReply(
                "This chat follows no session. Choose one, or start one with /new.",
                tuple(map(_make_switch_choice, sessions)),
            )
        return self._offer_folders("There is no session yet. Where shall the agent work?")

    def _list_open_sessions(self) -> list[AgentSessionRecord]:
        found = [each for each in self._sessions.list_sessions() if not each.is_archived]
        return found[:MAX_LISTED_SESSIONS]

    def _list_sessions(self, _argument: str, caller: CommandCaller) -> CommandReply:
        sessions = self._list_open_sessions()
        if not sessions:
            return self._offer_folders("There is no session yet. Where shall the agent work?")
        followed = self._bindings.get_chat(caller.chat_id).session_id
        lines = [format_session(each, is_followed=each.id == followed) for each in sessions]
        others = [each for each in sessions if each.id != followed]
        return CommandReply("\n".join(lines), tuple(map(_make_switch_choice, others)))

    def _switch(self, argument: str, caller: CommandCaller) -> CommandReply:
        if not argument:
            return self._list_sessions("", caller)
        session = self._find_session(argument)
        self.follow(caller.chat_id, session)
        return CommandReply(f"This chat follows {describe_session(session)}.")

    def follow(self, chat_id: str, session: AgentSessionRecord) -> None:
        """Have a chat follow a session from here on; what was said before is in /history."""
        chat = self._bindings.get_chat(chat_id)
        if chat.session_id != session.id:
            self._bindings.save_chat(
                replace(
                    chat,
                    session_id=session.id,
                    folder=session.folder,
                    # A running turn is shown whole.
                    shown_seq=self._find_begin_of_turn(session),
                )
            )

    def _find_begin_of_turn(self, session: AgentSessionRecord) -> int:
        if not session.is_thinking:
            return session.last_seq
        window = self._read_window(session)
        turns = window.list_turns(session)
        return turns[-1].first_seq - 1 if turns else session.last_seq

    def _find_session(self, wanted: str) -> AgentSessionRecord:
        sessions = self._sessions.list_sessions()
        found = [each for each in sessions if each.id.startswith(wanted)]
        found = found or [each for each in sessions if each.name.lower() == wanted.lower()]
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(f"`{each.id}`" for each in found[:MAX_LISTED_SESSIONS])
            raise WrongParam(f"Several sessions are called so: {ids}. Write more of the id.")
        raise SessionNotFound("There is no such session; /sessions lists them.")

    def _start_session(self, argument: str, caller: CommandCaller) -> CommandReply:
        if not argument:
            return self._offer_folders("Where shall the agent work?")
        machine, folder, agent = self._find_folder(argument)
        new = NewSession(folder, caller.actor, tag=f"{self._bindings.platform}:{caller.event_id}")
        if agent:
            new = replace(new, agent=agent)
        session = self._sessions.start_session_on(machine.id, new)
        self.follow(caller.chat_id, session)
        return CommandReply(
            f"Started {describe_session(session)} with {session.agent}."
            " Write what is to be done; running and deleting are asked here."
        )

    def _find_folder(self, argument: str) -> tuple[MachineRecord, str, str]:
        """Return the machine, the folder and the agent that ``REPOSITORY [AGENT]`` names."""
        *words, last = argument.split()
        for name, agent in ((argument, ""), (" ".join(words), last)):
            found = [
                (machine, folder)
                for machine in self._sessions.list_machines()
                for folder in machine.folders
                if name in {folder, get_folder_name(folder), f"{machine.host}:{folder}"}
            ]
            if len(found) > 1:
                places = ", ".join(f"`{machine.host}:{folder}`" for machine, folder in found)
                raise WrongParam(f"Several repositories are called so: {places}.")
            if found:
                return (*found[0], agent)
        raise WrongParam("No such repository is known; /repos lists them.")

    def _list_repositories(self, _argument: str, _caller: CommandCaller) -> CommandReply:
        lines = [
            f"- `{get_folder_name(folder)}` {folder} on {machine.host}"
            + ("" if machine.is_active else " (away)")
            for machine in self._sessions.list_machines()
            for folder in machine.folders
        ]
        if not lines:
            return CommandReply("No repository is known: `codekernel repos add DIR` adds one.")
        return CommandReply("\n".join(lines[:MAX_LISTED_FOLDERS]))

    def _offer_folders(self, question: str) -> CommandReply:
        choices = [
            CommandChoice(get_folder_name(folder), f"/new {machine.host}:{folder}")
            for machine in self._sessions.list_machines()
            if machine.is_active
            for folder in machine.folders
        ]
        if not choices:
            return CommandReply("No repository is known: `codekernel repos add DIR` adds one.")
        return CommandReply(question, tuple(choices[:MAX_LISTED_FOLDERS]))

    def _stop(self, _argument: str, caller: CommandCaller) -> CommandReply:
        session = self._require_session(caller)
        self._sessions.stop_turn(session.id, caller.actor)
        return CommandReply("Stopped." if session.is_thinking else "The agent does nothing now.")

    def _set_mode(self, argument: str, caller: CommandCaller) -> CommandReply:
        session = self._require_session(caller)
        if argument in {PermissionMode.ALLOW_ALL, "all"}:
            return CommandReply("From a chat the agent always asks: allow everything on the page.")
        if argument not in _MODES:
            choices = (
                CommandChoice("Ask", "/mode ask"),
                CommandChoice("Only read", "/mode read-only"),
            )
            return CommandReply(f"The mode is {session.permission_mode}.", choices)
        self._sessions.update_session(session.id, permission_mode=_MODES[argument])
        return CommandReply(f"The mode is {_MODES[argument]}.")

    def _show_history(self, argument: str, caller: CommandCaller) -> CommandReply:
        session = self._require_session(caller)
        count = int(argument) if argument.isdecimal() else 1
        turns = self._read_window(session).list_turns(session)
        shown = turns[-min(max(count, 1), MAX_HISTORY_TURNS) :]
        if not shown:
            return CommandReply("Nothing was said yet.")
        return CommandReply(f"The last turns of {describe_session(session)}:", turns=tuple(shown))

    def _read_window(self, session: AgentSessionRecord) -> TurnWindow:
        page = self._sessions.read_messages(session.id, limit=_HISTORY_MESSAGES)
        first = page.messages[0].seq - 1 if page.messages else session.last_seq
        window = TurnWindow(session.id, first)
        window.put(page.messages)
        return window

    def _rename(self, argument: str, caller: CommandCaller) -> CommandReply:
        session = self._require_session(caller)
        if not argument:
            raise WrongParam("Write the name behind it: /rename NAME")
        named = self._sessions.update_session(session.id, name=argument[:MAX_NAME_CHARS])
        return CommandReply(f"It is called {describe_session(named)} now.")

    def _archive(self, _argument: str, caller: CommandCaller) -> CommandReply:
        session = self._require_session(caller)
        self._sessions.update_session(session.id, is_archived=True)
        chat = self._bindings.get_chat(caller.chat_id)
        self._bindings.save_chat(replace(chat, session_id="", shown_seq=0))
        return CommandReply(f"{describe_session(session)} is put away. /sessions lists the others.")

    def _ask(self, argument: str, caller: CommandCaller) -> CommandReply:
        if not argument:
            raise WrongParam("Write the question behind it: /ask QUESTION")
        return CommandReply(self._queries.ask(self._require_folder(caller), argument))

    def _search(self, argument: str, caller: CommandCaller) -> CommandReply:
        if not argument:
            raise WrongParam("Write what to look for behind it: /search WORDS")
        return CommandReply(self._queries.search(self._require_folder(caller), argument))

    def _require_folder(self, caller: CommandCaller) -> str:
        """Return the folder that a chat asks about: its session's, or the only one."""
        chat = self._bindings.get_chat(caller.chat_id)
        own = self._sessions.get_machine()
        if chat.folder in own.folders:
            return chat.folder
        if chat.folder:
            raise WrongParam("/ask and /search work on the machine of the hub alone.")
        if len(own.folders) == 1:
            return own.folders[0]
        raise WrongParam("Choose a session first, by /sessions or /new: it says which code.")

    def _set_notices(self, argument: str, caller: CommandCaller) -> CommandReply:
        chat = self._bindings.get_chat(caller.chat_id)
        if argument not in {"on", "off"}:
            choices = (CommandChoice("On", "/notices on"), CommandChoice("Off", "/notices off"))
            return CommandReply("Only notices here, and no content?", choices)
        self._bindings.save_chat(replace(chat, is_notices_only=argument == "on"))
        text = "Only notices are sent here." if argument == "on" else "Everything is sent here."
        return CommandReply(text)

    def _require_session(self, caller: CommandCaller) -> AgentSessionRecord:
        session = self.get_session(caller.chat_id)
        if session is None:
            raise SessionNotFound("This chat follows no session: /sessions lists them.")
        return session


def is_notices_only(chat: ChatBinding, *, default: bool) -> bool:
    """Return whether a chat gets notices alone."""
    return default if chat.is_notices_only is None else chat.is_notices_only


def format_help() -> CommandReply:
    """Return the list of commands."""
    lines = [f"/{name} - {purpose}" for name, purpose in COMMANDS.items()]
    head = "Everything else you write goes to the agent of the session that this chat follows."
    return CommandReply("\n".join([head, "", *lines]))


def _make_switch_choice(session: AgentSessionRecord) -> CommandChoice:
    return CommandChoice(label_session(session), f"/switch {session.id}")
