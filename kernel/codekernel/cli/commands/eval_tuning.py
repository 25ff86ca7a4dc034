"""``codekernel eval --tune`` and ``--untune``: weights of signals, learned from the history.

The kernel learns and keeps them (search/tuning.py); this says what it found.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codekernel.cli.folder_session import FolderSession
from codekernel.domain.untrusted_text import encode_path
from codekernel.search.evaluation import EvalQuestion

# The names of the weights on the wire, as `search --explain` calls these parts of a score.
_SIGNALS = {
    "semantic": "meaning",
    "name_parts": "name",
    "file_name": "file name",
    "folder": "folder",
    "file_total": "file as a whole",
}


@dataclass(frozen=True, slots=True)
class TuningReport:
    """What the kernel replied to ``tuneRanking``."""

    repository: Path
    reply: dict[str, Any]

    def format_lines(self) -> Iterator[str]:
        """Return what was learned and whether it is kept, for people."""
        reply, gain = self.reply, self.reply["gain"]
        trained, set_aside = reply["trained"], reply["setAside"]
        yield f"{self.repository}: weights learned from {trained} commits, judged by {set_aside}"
        yield ""
        for name, label in _SIGNALS.items():
            yield f"{label:16} x {reply['weights'][name]:.2f}"
        yield ""
        interval = f"{gain['low']:+.3f} to {gain['high']:+.3f}"
        change = f"NDCG@10 of the commits set aside: {reply['before']:.3f}, {gain['mean']:+.3f}"
        yield f"{change} ({interval}); of those learned from {reply['trainingGain']['mean']:+.3f}"
        if reply["kept"]:
            yield "They are kept with the index: codekernel eval --untune removes them."
        else:
            yield "Not above noise, so nothing is changed. More --commits narrow the interval."

    def to_json(self) -> str:
        """Return the report as JSON for programs."""
        return json.dumps({"repository": str(self.repository), **self.reply}, indent=2)


@dataclass(frozen=True, slots=True)
class UntuningReport:
    """The learned weights of a repository are gone."""

    repository: Path

    def format_lines(self) -> Iterator[str]:
        """Return one sentence."""
        yield f"{self.repository}: searched with the weights of everybody again."

    def to_json(self) -> str:
        """Return the report as JSON for programs."""
        return json.dumps({"repository": str(self.repository), "kept": False}, indent=2)


def tune_ranking(
    root: Path, session: FolderSession, questions: Sequence[EvalQuestion]
) -> TuningReport:
    """Have the kernel learn from questions, the newest first."""
    asked = [
        {"text": each.text, "filePaths": sorted(map(encode_path, each.paths))} for each in questions
    ]
    return TuningReport(root, session.request("tuneRanking", questions=asked))


def untune_ranking(root: Path, session: FolderSession) -> UntuningReport:
    """Have the kernel forget what it learned of a repository."""
    session.request("tuneRanking", questions=[])
    return UntuningReport(root)
