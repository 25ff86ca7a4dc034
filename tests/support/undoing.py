"""Undo the changes of a journal one by one, as a person does who wants everything back."""

from codekernel.agent.workspace.journal import ChangeJournal, ChangeRecord


def undo_last(journal: ChangeJournal) -> ChangeRecord | None:
    """Undo the last change and return it; None if there is none."""
    change = max(journal.changes, key=lambda each: each.number, default=None)
    if change is not None:
        journal.undo(change)
    return change


def undo_all(journal: ChangeJournal) -> list[ChangeRecord]:
    """Undo every change, newest first."""
    undone = []
    while change := undo_last(journal):
        undone.append(change)
    return undone
