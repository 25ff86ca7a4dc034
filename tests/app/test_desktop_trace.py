"""The desktop app fetches, reports and looks up nothing; see docs/privacy.md."""

from pathlib import Path

import pytest
from support.javascript import require_desktop, require_strace
from support.privacy_document import documented_files
from support.traced_desktop import run_desktop
from support.traced_runs import Place

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def test_the_desktop_app_and_its_chromium_keep_to_themselves(tmp_path: Path) -> None:
    require_desktop()
    require_strace()
    run = run_desktop(Place(tmp_path / "desktop", {"CODEKERNEL_STANDALONE": "1"}))
    assert run.trace.lookups == []
    assert run.trace.outside() == []
    assert run.trace.sockets == []
    assert run.trace.written_outside(run.place.user_data) == []
    assert any("kernel" in program for program in run.trace.programs)
    documented = documented_files((ROOT / "docs" / "privacy.md").read_text(encoding="utf-8"))
    user_data = run.place.user_data
    files = {
        path
        for path in run.trace.written_inside(user_data)
        if not (user_data / path).is_dir() and not any(it.matches(path) for it in documented)
    }
    assert files == set()
    assert user_data.stat().st_mode & 0o077 == 0
