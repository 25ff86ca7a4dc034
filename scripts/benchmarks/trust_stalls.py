"""Campaign ``stalls``: one window opens 100,000 files while another searches; how long it waits."""

import random
import tempfile
import threading
import time
from pathlib import Path

from kernel_talk import KernelTalk
from trust_result import CampaignResult

DEFAULT_FILES = 100_000
FILES_PER_FOLDER = 200
WATCHED_SECONDS = 60.0
# A person notices a stall at about this; "for seconds" is what must never happen.
MAX_WAIT_SECONDS = 1.0
SMALL, LARGE = 1, 2
WORDS = ("session", "closed", "parser", "index", "token", "window", "reply", "vector")


def run(seed: int, tries: int | None) -> CampaignResult:
    """Search for a minute while ``tries`` files are opened; a wait of a second is a failure."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        _write_files(root / "small", 50, chance)
        files = tries or DEFAULT_FILES
        _write_files(root / "large", files, chance)
        with KernelTalk(root) as talk:
            talk.register(root / "small", SMALL)
            talk.wait_for_idle(SMALL)
            waits = _search_beside_opening(talk, root / "large", chance)
    waits.sort()
    slow = [f"a search waited {wait:.2f} s" for wait in waits if wait > MAX_WAIT_SECONDS]
    figures = ", ".join(f"p{share} {_at(waits, share):.0f} ms" for share in (50, 95, 99))
    note = f"{files:,} files; waits {figures}, max {waits[-1] * 1000:.0f} ms"
    return CampaignResult("stalls", len(waits), tuple(slow), (note,))


def _search_beside_opening(talk: KernelTalk, large: Path, chance: random.Random) -> list[float]:
    opening = threading.Thread(target=talk.register, args=(large, LARGE), daemon=True)
    end = time.monotonic() + WATCHED_SECONDS
    waits: list[float] = []
    opening.start()
    while time.monotonic() < end:
        began = time.perf_counter()
        talk.search(" ".join(chance.sample(WORDS, 3)), SMALL)
        waits.append(time.perf_counter() - began)
        time.sleep(0.01)
    opening.join()
    return waits


def _write_files(folder: Path, count: int, chance: random.Random) -> None:
    for number in range(count):
        place = folder / f"part_{number // FILES_PER_FOLDER}"
        if number % FILES_PER_FOLDER == 0:
            place.mkdir(parents=True)
        name = f"{chance.choice(WORDS)}_{number}"
        text = f"def {name}(value):\n    return value + {number}\n"
        (place / f"{name}.py").write_text(text, encoding="utf-8")


def _at(waits: list[float], share: int) -> float:
    return waits[min(len(waits) - 1, len(waits) * share // 100)] * 1000
