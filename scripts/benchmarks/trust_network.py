"""The campaign ``network``: real commands under strace, and what of them left the machine.

A try is one command in an empty home folder, with no variable of a CI machine; the desktop app is
one of them where it can be run. The seed chooses which variables that could wake somebody are set.
"""

import random
import shutil
import sys
import tempfile
from pathlib import Path

from trust_result import CampaignResult

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support.traced_desktop import can_run_desktop, run_desktop
from support.traced_runs import Place, TracedRun, run_traced

DEFAULT_ROUNDS = 1
# Each asks a library to speak, or to write elsewhere. None may be heard.
WAKING = {
    "ORT_DISABLE_TELEMETRY": "false",
    "ORT_TELEMETRY_DISABLED": "0",
    "DO_NOT_TRACK": "0",
    "HF_HUB_OFFLINE": "0",
    "HF_HUB_DISABLE_TELEMETRY": "0",
    "OTEL_TRACES_EXPORTER": "otlp",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "http://telemetry.invalid:4317",
    "ELECTRON_ENABLE_LOGGING": "1",
    "TOKENIZERS_PARALLELISM": "true",
}


def run(seed: int, tries: int | None) -> CampaignResult:
    """Trace every command, ``tries`` times over; a round takes about half a minute."""
    if sys.platform != "linux" or not shutil.which("strace"):
        return CampaignResult("network", 0, notes=("needs Linux and strace",))
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    faults: list[str] = []
    notes: list[str] = []
    count = 0
    for number in range(tries or DEFAULT_ROUNDS):
        more = {name: value for name, value in WAKING.items() if chance.random() < 1 / 2}
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            runs = _trace(Path(name), more, with_desktop=number == 0)
            faults += [f"{fault}, with {more}" for each in runs for fault in _faults(each)]
            notes += [_note(each) for each in runs]
            count += len(runs)
    return CampaignResult("network", count, tuple(faults), tuple(notes))


def _trace(folder: Path, more: dict[str, str], *, with_desktop: bool) -> list[TracedRun]:
    runs = run_traced(folder, more)
    if with_desktop and can_run_desktop():
        runs.append(run_desktop(Place(folder / "desktop", more)))
    return runs


def _faults(run: TracedRun) -> list[str]:
    """Once each; GTK keeps a file in what is the home folder here, and Chromium its own modes."""
    theirs = ("left in the home folder: dconf", "/Crashpad/", "/browser/")
    is_theirs = run.name == "desktop"
    return [
        fault
        for fault in dict.fromkeys(run.faults())
        if not (is_theirs and any(word in fault for word in theirs))
    ]


def _note(run: TracedRun) -> str:
    trace, place = run.trace, run.place
    outside = len(trace.outside())
    elsewhere = len(trace.written_outside(place.user_data, place.repository))
    return (
        f"{run.name}: {len(trace.programs)} programs, {len(trace.lookups)} name lookups,"
        f" {outside} connections outside, {len(trace.connections) - outside} on loopback,"
        f" {len(trace.writes)} writes, {elsewhere} of them elsewhere"
    )
