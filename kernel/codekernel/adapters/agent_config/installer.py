"""Plan and carry out what ``codekernel install`` and ``uninstall`` change in files of agents.

A plan reads files and writes none. An entry that is not ours is left alone, and so is a file that
is broken or read-only; each is named with the reason.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from codekernel.adapters.agent_config.config_file import (
    PROJECT_FILE_MODE,
    USER_FILE_MODE,
    ConfigFile,
    InstallRecord,
    RecordedChange,
    delete_config_file,
    list_missing_folders,
    read_config_file,
    require_writable,
    write_config_file,
)
from codekernel.adapters.agent_config.formats import get_format
from codekernel.adapters.agent_config.targets import InstallTarget
from codekernel.adapters.agent_config.text_edits import (
    MISSING,
    BrokenConfig,
    RefusedEdit,
    TextEdit,
    get_entry,
    prune_entry,
)


class ChangeAction(Enum):
    """What happens to an entry."""

    CREATE = "create"  # the file, too
    ADD = "add"
    UPDATE = "update"
    REMOVE = "remove"
    DELETE = "delete"  # the file, too
    UNCHANGED = "unchanged"
    KEPT = "kept"  # not ours
    BROKEN = "broken"
    REFUSED = "refused"  # read-only, or of a form that cannot be edited


CHANGING = frozenset(
    {
        ChangeAction.CREATE,
        ChangeAction.ADD,
        ChangeAction.UPDATE,
        ChangeAction.REMOVE,
        ChangeAction.DELETE,
    }
)


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What would be done to one entry; ``after`` is the new text if something is."""

    agents: tuple[str, ...]
    part: str
    path: Path
    action: ChangeAction
    reason: str = ""
    file: ConfigFile | None = None
    after: str = ""
    record: RecordedChange | None = None  # that of the change, or of what is taken away

    @property
    def is_change(self) -> bool:
        """Whether a file would be written."""
        return self.action in CHANGING


def plan_install(
    targets: Iterable[InstallTarget], record: InstallRecord, project: Path | None
) -> list[PlannedChange]:
    """Return what would be written."""
    planner = _InstallPlanner(record, str(project or ""))
    return [planner.plan(target) for target in targets]


class _InstallPlanner:
    def __init__(self, record: InstallRecord, project: str) -> None:
        self._record = record
        self._project = project

    def plan(self, target: InstallTarget) -> PlannedChange:
        known = self._record.find(target.path, target.keys)
        try:
            file = read_config_file(target.path)
            return self._plan_file(target, file, known)
        except BrokenConfig as error:
            action, reason = ChangeAction.BROKEN, str(error)
        except RefusedEdit as error:
            action, reason = ChangeAction.REFUSED, str(error)
        return PlannedChange(target.agents, target.part, target.path, action, reason)

    def _plan_file(
        self, target: InstallTarget, file: ConfigFile, known: RecordedChange | None
    ) -> PlannedChange:
        text, form = file.text, get_format(target.file_format)
        current = get_entry(form.load(text), target.keys)
        place = target.agents, target.part, target.path
        base, value = text, target.value
        if current is MISSING:
            action = ChangeAction.CREATE if file.content is None else ChangeAction.ADD
        elif has_values(current, target.value):
            return PlannedChange(*place, ChangeAction.UNCHANGED, file=file, record=known)
        elif known and has_values(current, known.value):
            action, base = ChangeAction.UPDATE, undo_change(text, known)
            value = _merge_entry(current, known.value, target.value)
        else:
            named = ".".join(target.keys) if target.part == "server" else target.path.name
            reason = f"it has another {named}, which install did not write"
            return PlannedChange(*place, ChangeAction.KEPT, reason)
        require_writable(target.path)
        after = form.add(base, target.keys, value)
        if prune_entry(form.load(after), target.keys) != prune_entry(form.load(text), target.keys):
            raise RefusedEdit("its other entries would not stay the same")
        containers = (target.keys[:depth] for depth in range(1, len(target.keys)))
        document = form.load(base)
        known_keys = sum(get_entry(document, keys) is not MISSING for keys in containers)
        edit = TextEdit.between(base, after)
        change = self._make_record(target, file, known, edit, known_keys)
        return PlannedChange(*place, action, file=file, after=after, record=change)

    def _make_record(
        self,
        target: InstallTarget,
        file: ConfigFile,
        known: RecordedChange | None,
        edit: TextEdit,
        known_keys: int,
    ) -> RecordedChange:
        is_new = known.is_new_file if known and file.content is not None else file.content is None
        folders = tuple(map(str, list_missing_folders(target.path)))
        return RecordedChange(
            str(target.path),
            target.part,
            target.file_format,
            target.keys,
            target.value,
            _join_agents(known, target.agents),
            self._project,
            edit,
            known_keys,
            is_new,
            folders or (known.new_folders if known else ()),
        )


def plan_uninstall(
    record: InstallRecord, agents: Iterable[str] | None, project: Path | None
) -> list[PlannedChange]:
    """Return what would be taken away: what is recorded for these agents, or for all."""
    chosen = None if agents is None else set(agents)
    return [
        _plan_removal(change, chosen)
        for change in reversed(record.list_changes())  # the first may have made the folders
        if change.project == str(project or "") and (not chosen or chosen & set(change.agents))
    ]


def _plan_removal(change: RecordedChange, chosen: set[str] | None) -> PlannedChange:
    path = Path(change.path)
    left = [agent for agent in change.agents if chosen and agent not in chosen]
    agents = tuple(agent for agent in change.agents if agent not in left)
    place = agents, change.part, path
    if left:
        reason = f"{', '.join(left)} reads it, too"
        return PlannedChange(*place, ChangeAction.UNCHANGED, reason, record=change)
    try:
        file = read_config_file(path)
        current = get_entry(get_format(change.file_format).load(file.text), change.keys)
        if current is MISSING:
            return PlannedChange(*place, ChangeAction.UNCHANGED, "it is gone", record=change)
        if not has_values(current, change.value):
            reason = "you have changed what install wrote"
            return PlannedChange(*place, ChangeAction.KEPT, reason)
        require_writable(path)
        after = undo_change(file.text, change)
        is_empty = change.is_new_file and after.strip() in {"", "{}"}
        action = ChangeAction.DELETE if is_empty else ChangeAction.REMOVE
        return PlannedChange(*place, action, "", file, "" if is_empty else after, change)
    except BrokenConfig as error:
        return PlannedChange(*place, ChangeAction.BROKEN, str(error))
    except RefusedEdit as error:
        return PlannedChange(*place, ChangeAction.REFUSED, str(error))


def list_unrecorded(targets: Iterable[InstallTarget], record: InstallRecord) -> list[PlannedChange]:
    """Return the entries with our name that no install on this machine has written."""
    found = []
    for target in targets:
        try:
            document = get_format(target.file_format).load(read_config_file(target.path).text)
        except BrokenConfig:
            continue
        is_there = get_entry(document, target.keys) is not MISSING
        if is_there and record.find(target.path, target.keys) is None:
            reason = f"it has {'.'.join(target.keys)}, which install did not write"
            place = target.agents, target.part, target.path
            found.append(PlannedChange(*place, ChangeAction.KEPT, reason))
    return found


def undo_change(text: str, change: RecordedChange) -> str:
    """Return a text without what was recorded. Raises RefusedEdit.

    The edit is undone to the letter if it is still there; else the entry is removed by its format.
    """
    form = get_format(change.file_format)
    expected = prune_entry(form.load(text), change.keys)
    removed = form.remove(text, _choose_removed_keys(form.load(text), change))
    for candidate in (change.edit.undo(text), removed):
        try:
            document = form.load(text if candidate is None else candidate)
        except BrokenConfig:
            continue
        is_gone = get_entry(document, change.keys) is MISSING
        if candidate is not None and is_gone and prune_entry(document, change.keys) == expected:
            return candidate
    raise RefusedEdit(f"{'.'.join(change.keys)} cannot be told from what is around it")


def _choose_removed_keys(document: dict[str, Any], change: RecordedChange) -> tuple[str, ...]:
    """Return the path of the entry, or of the container that was made for it and has no other."""
    keys = change.keys
    for depth in range(change.known_keys + 1, len(keys)):
        if not prune_entry(get_entry(document, keys[:depth]), keys[depth:]):
            return keys[:depth]
    return keys


def apply_change(planned: PlannedChange, record: InstallRecord) -> None:
    """Carry out a change. Raises RefusedEdit or StorageError; the file is as it was then.

    The record is written first: after a crash it names an entry that is not there, never misses
    one that is.
    """
    change, file = planned.record, planned.file
    match planned.action:
        case ChangeAction.CREATE | ChangeAction.ADD | ChangeAction.UPDATE if change and file:
            record.put(change)
            mode = PROJECT_FILE_MODE if change.project else USER_FILE_MODE
            write_config_file(file, planned.after, mode)
        case ChangeAction.REMOVE if change and file:
            write_config_file(file, planned.after, USER_FILE_MODE)
            record.drop(change)
        case ChangeAction.DELETE if change and file:
            delete_config_file(file.path, [Path(folder) for folder in change.new_folders])
            record.drop(change)
        case _:
            pass


def settle_unchanged(planned: PlannedChange, record: InstallRecord, *, is_install: bool) -> None:
    """Record which agents use an entry that stays as it is. Raises StorageError."""
    change = planned.record
    if planned.action is not ChangeAction.UNCHANGED or change is None:
        return
    if is_install:
        added = tuple(agent for agent in planned.agents if agent not in change.agents)
        if added:
            record.put(replace(change, agents=(*change.agents, *added)))
    elif set(planned.agents) >= set(change.agents):
        record.drop(change)
    else:
        record.drop_agents(change, planned.agents)


def has_values(current: Any, wanted: Any) -> bool:
    """Return whether an entry says what is wanted; clients add fields of their own."""
    if isinstance(current, dict) and isinstance(wanted, dict):
        return all(current.get(key, MISSING) == value for key, value in wanted.items())
    return bool(current == wanted)


def _merge_entry(current: Any, old: Any, new: Any) -> Any:
    """Return the new entry with the fields that others added to the old one."""
    if not isinstance(current, dict) or not isinstance(new, dict):
        return new
    return {**new, **{key: value for key, value in current.items() if key not in {**old, **new}}}


def _join_agents(known: RecordedChange | None, agents: tuple[str, ...]) -> tuple[str, ...]:
    before = known.agents if known else ()
    return (*before, *(agent for agent in agents if agent not in before))
