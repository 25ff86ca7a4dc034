"""What must be true of sessions after kills: nothing lost, nothing twice, everybody knows all."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from codekernel.client.agent_sessions import RemoteAgentSessions
from codekernel.domain.agent_sessions import (
    META_NOTICE,
    PermissionStatus,
    SessionMessage,
    SessionPermission,
)

from support.hub_kills_tasks import DID
from support.polling import is_true_within
from support.resuming_device import Json, ResumingDevice
from support.scripted_agent import text_of

PAGE_SIZE = 200


@dataclass
class SessionFindings:
    """What became of the tasks of a session."""

    answered: int = 0
    interrupted: int = 0
    problems: list[str] = field(default_factory=list)


def read_all(store: RemoteAgentSessions, session_id: str) -> list[SessionMessage]:
    """Return all messages of a session, as the kernel keeps them."""
    found: list[SessionMessage] = []
    while True:
        after = found[-1].seq if found else 0
        page = store.read_messages(session_id, after_seq=after, limit=PAGE_SIZE)
        found += page.messages
        if not page.has_more:
            return found


def list_done(messages: Sequence[SessionMessage]) -> list[tuple[int, int]]:
    """Return the numbers of the tasks that an agent answered, each with its place."""
    return [
        (int(number), message.seq)
        for message in messages
        if not message.local_id
        for number in DID.findall(text_of(message))
    ]


def check_session(
    messages: Sequence[SessionMessage], accepted: Mapping[str, int], taken_back: set[str]
) -> SessionFindings:
    """Compare a session with the tasks, by localId, that it has accepted and given back."""
    findings = SessionFindings()
    problems = findings.problems
    numbers = [each.seq for each in messages]
    if numbers != list(range(1, len(numbers) + 1)):
        problems.append(f"the numbers have a gap: {numbers[:20]}")
    kept = Counter(each.local_id for each in messages if each.local_id)
    problems += [f"{local_id} is lost" for local_id in accepted.keys() - kept.keys()]
    problems += [f"{local_id} is there twice" for local_id, count in kept.items() if count > 1]
    problems += [f"{local_id} was taken back" for local_id in taken_back & kept.keys()]
    done = list_done(messages)
    seen = Counter(number for number, _ in done)
    problems += [f"task {number} was done twice" for number, count in seen.items() if count > 1]
    ends = [each.seq for each in messages if META_NOTICE in each.message.meta or is_failure(each)]
    begin, undone = 0, 0
    for place, number in [*_order_by_place(messages, accepted, dict(done)), (None, 0)]:
        if number and place is None:
            undone += 1
            continue
        end = place if place is not None else len(numbers) + 1
        explained = sum(begin < each < end for each in ends)
        if undone > explained:
            problems.append(f"{undone} tasks between {begin} and {end}, {explained} explanations")
        findings.interrupted += undone
        begin, undone = end, 0
    findings.answered = sum(number in seen for number in accepted.values())
    return findings


def _order_by_place(
    messages: Sequence[SessionMessage], accepted: Mapping[str, int], done: Mapping[int, int]
) -> list[tuple[int | None, int]]:
    """Return the tasks in their order, each with the place of its answer, if there is one."""
    sent = [accepted[each.local_id] for each in messages if each.local_id in accepted]
    return [(done.get(number), number) for number in sent]


def is_failure(message: SessionMessage) -> bool:
    """Return whether an agent failed."""
    return bool(message.message.meta.get("is_error"))


def check_permissions(
    session_id: str, log: Sequence[SessionPermission], devices: Sequence[ResumingDevice]
) -> list[str]:
    """Compare the log of permissions with the answers that devices were told to count."""
    problems = [
        f"{each.id} waits for ever" for each in log if each.status is PermissionStatus.PENDING
    ]
    kept = {each.id: each for each in log}
    decided: Counter[str] = Counter()
    for device in devices:
        for (owner, permission_id), allowed in device.record.decided.items():
            if owner != session_id:
                continue
            decided[permission_id] += 1
            entry = kept.get(permission_id)
            status = PermissionStatus.APPROVED if allowed else PermissionStatus.DENIED
            by = entry.answered_by.name if entry and entry.answered_by else ""
            if entry is None or (entry.status, by) != (status, device.name):
                problems.append(f"{permission_id}: {device.name} decided, kept is {entry}")
    problems += [f"{name} was decided twice" for name, count in decided.items() if count > 1]
    return problems


def check_devices(
    messages: Sequence[SessionMessage],
    session_id: str,
    devices: Sequence[ResumingDevice],
    timeout_seconds: float,
) -> list[str]:
    """Wait until each device has what is kept."""
    kept = [(each.seq, each.id, each.local_id, True) for each in messages]
    problems: list[str] = []
    for device in devices:
        if not is_true_within(lambda: _list_known(device, session_id) == kept, timeout_seconds):  # noqa: B023 - at once
            known = _list_known(device, session_id)
            missing, extra = set(kept) - set(known), set(known) - set(kept)
            problems.append(f"{device.name} misses {sorted(missing)}, has {sorted(extra)}")
    return problems


def _list_known(device: ResumingDevice, session_id: str) -> list[tuple[int, str, str, bool]]:
    def describe(message: Json) -> tuple[int, str, str, bool]:
        is_taken = message["invokedAt"] is not None
        return message["seq"], message["id"], message["localId"] or "", is_taken

    return [describe(each) for each in device.list_messages(session_id)]
