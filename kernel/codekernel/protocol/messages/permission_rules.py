"""What agents may do without being asked: listing and deleting rules.

A rule is made by ``answerPermission`` with ``allowRule``.
"""

from codekernel.protocol.envelope import Message, ReplyData


class GetPermissionRules(Message, frozen=True, tag="getPermissionRules"):
    """List what agents may do here without being asked, because somebody allowed it for good."""


class PermissionRuleEntry(ReplyData, frozen=True):
    """A rule: the command, or the folder in which files may be deleted."""

    id: str
    danger: str
    rule: str


class GetPermissionRulesReply(ReplyData, frozen=True):
    """The rules of this repository, oldest first."""

    rules: list[PermissionRuleEntry]


class DeletePermissionRule(Message, frozen=True, tag="deletePermissionRule"):
    """Be asked again about what a rule allowed."""

    id: str
