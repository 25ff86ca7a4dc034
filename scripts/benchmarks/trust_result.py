"""The result of one fault campaign, and the table that ``bench.py trust`` prints of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CampaignResult:
    """How often something was tried, and each failure in one line that says how to repeat it."""

    name: str
    tries: int
    failures: tuple[str, ...] = ()
    # What else was measured, one short sentence each.
    notes: tuple[str, ...] = field(default=())

    @property
    def has_passed(self) -> bool:
        """Whether something was tried and nothing failed."""
        return self.tries > 0 and not self.failures


def format_table(results: Iterable[CampaignResult]) -> str:
    """Return the results as a Markdown table, followed by failures and notes."""
    rows = list(results)
    lines = ["| campaign | tries | failures |", "|---|---|---|"]
    lines += [f"| {row.name} | {row.tries:,} | {len(row.failures)} |" for row in rows]
    for row in rows:
        lines += [f"- {row.name}: {note}" for note in row.notes]
        lines += [f"- {row.name} FAILED: {failure}" for failure in row.failures]
    return "\n".join(lines)
