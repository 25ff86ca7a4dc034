"""The desktop app fetches, reports and looks up nothing; see docs/privacy.md."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support.javascript import require_desktop, require_strace
from support.privacy_document import documented_files
from support.traced_desktop import run_desktop
from support.traced_runs import Place

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A path that leaves room for the name of a socket."""
    with TemporaryDirectory(prefix="ck-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def test_the_desktop_app_its_chromium_and_its_kernel_keep_to_themselves(short_path: Path) -> None:
    require_desktop()
    require_strace()
    run = run_desktop(Place(short_path / "desktop"))
    assert run.trace.lookups == []
    assert run.trace.outside() == []
    assert set(run.trace.sockets) == {str(run.place.user_data / "run" / "kernel.sock")}
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
