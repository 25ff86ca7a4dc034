"""The part of ``codekernel doctor`` that looks at conversations, sessions, journals and logs."""

from collections.abc import Iterator

from kernel.agent.user_file_check import check_user_files, set_aside_findings
from kernel.storage.user_data import UserData
from kernel.storage.vault import Vault

Finding = tuple[bool, str]


def examine_user_files(user_data: UserData, _vault: Vault, *, fix: bool) -> Iterator[Finding]:
    """Say which of them cannot be read; with ``fix``, move what is no file out of the way."""
    findings = check_user_files(user_data)
    moved = set_aside_findings(findings) if fix else []
    for finding in findings:
        name = finding.path.relative_to(user_data.root)
        yield not (fix or finding.is_quarantined), f"{name}: {finding.problem}"
    for path in moved:
        yield False, f"moved aside: {path.relative_to(user_data.root)}"
    if not findings:
        yield False, "conversations, sessions and logs: all can be read"
