import subprocess
import sys
from pathlib import Path

import pytest
from codekernel import __version__
from support.kernel_process import bare_environment

ROOT = Path(__file__).parents[2]


def codekernel(user_data: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environ = bare_environment(user_data)
    return subprocess.run(
        [sys.executable, "-m", "codekernel", *words],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=environ,
        cwd=ROOT,
        timeout=60,
        check=False,
    )


def test_the_version_is_printed(user_data: Path) -> None:
    assert codekernel(user_data, "--version").stdout == f"codekernel {__version__}\n"


def test_help_lists_the_commands(user_data: Path) -> None:
    done = codekernel(user_data, "--help")
    assert done.returncode == 0
    assert "serve" in done.stdout
    assert "doctor" in done.stdout


def test_an_unknown_command_is_a_usage_error(user_data: Path) -> None:
    done = codekernel(user_data, "sing")
    assert done.returncode == 2
    assert "sing" in done.stderr


def test_the_doctor_finds_nothing_wrong_with_the_example(user_data: Path) -> None:
    example = (ROOT / "userData.example" / "settings.json").read_bytes()
    (user_data / "settings.json").write_bytes(example)
    done = codekernel(user_data, "doctor")
    assert done.returncode == 0, done.stdout
    assert str(user_data) in done.stdout
    assert "PROBLEM" not in done.stdout


def test_the_doctor_is_content_before_the_first_start(user_data: Path) -> None:
    done = codekernel(user_data, "doctor")
    assert done.returncode == 0
    assert done.stderr == ""
    assert list(user_data.iterdir()) == []


def test_the_doctor_names_what_is_wrong_and_changes_nothing(user_data: Path) -> None:
    (user_data / "db").mkdir()
    vault = user_data / "db" / "kernel.db"
    vault.write_bytes(b"not a vault" * 1000)
    (user_data / "db" / "kernel.key").write_text("a" * 64, encoding="ascii")
    done = codekernel(user_data, "doctor", "--user-data", str(user_data))
    assert done.returncode == 1
    assert done.stdout.count("PROBLEM") == 1
    assert vault.read_bytes() == b"not a vault" * 1000
    assert [path.name for path in user_data.rglob("*unreadable*")] == []


def test_the_doctor_reports_keys_in_plain_text(user_data: Path) -> None:
    aside = user_data / "db" / "kernel.db.pocketrag-20260101-000000"
    aside.parent.mkdir()
    aside.touch()
    example = (ROOT / "userData.example" / "settings.json").read_text(encoding="utf-8")
    url = "http://chat.example.com/v1/chat/completions"
    changed = example.replace("https://api.deepseek.com/v1/chat/completions", url)
    (user_data / "settings.json").write_text(changed, encoding="utf-8")
    stored = codekernel(user_data, "key", "set", "deepseek", stdin="sk-invented\n")
    assert stored.returncode == 0, stored.stderr
    done = codekernel(user_data, "doctor")
    assert done.returncode == 1
    assert f"ok: vault: {aside.name}" in done.stdout
    assert "plain text" in done.stdout
    assert "PROBLEM: conversationSettings.generationModel[0].url" in done.stdout
    assert "chat.example.com" in done.stdout
    assert "sk-invented" not in done.stdout


def test_the_bundled_models_are_listed_and_intact(user_data: Path) -> None:
    done = codekernel(user_data, "models")
    assert done.returncode == 0, done.stdout
    for name in ("codekernel-static-v3", "granite-embedding-30m-english"):
        assert name in done.stdout
    assert "used by static" in done.stdout


def test_a_model_that_cannot_be_used_is_named(user_data: Path) -> None:
    example = (ROOT / "userData.example" / "settings.json").read_text(encoding="utf-8")
    missing = user_data / "missing"
    entry = f'"models": [{{"name": "m", "path": "{missing.as_posix()}", "type": "embedding"}}]'
    changed = example.replace('"models": []', entry)
    (user_data / "settings.json").write_text(changed, encoding="utf-8")
    done = codekernel(user_data, "models")
    assert done.returncode == 1
    assert f"PROBLEM: there is no model folder {missing}" in done.stdout


def test_nothing_heavy_is_imported_before_ready(user_data: Path) -> None:
    script = (
        "import sys, codekernel.cli.commands.serve as serve\n"
        "print(sorted({'msgspec','logging','json','sqlcipher3','httpx','onnxruntime','numpy'}"
        " & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "[]\n"


def test_the_app_is_imported_without_the_heavy_libraries(user_data: Path) -> None:
    script = (
        "import sys, codekernel.app\n"
        "heavy = {'httpx','onnxruntime','numpy','tokenizers','keyring','lancedb','tantivy',"
        "'pyarrow','tree_sitter','watchdog'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_a_start_and_a_search_import_nothing_of_conversations() -> None:
    imports = "import codekernel.cli.kernel_startup, codekernel.runtime.workspace, sys"
    listing = "print(*(name for name in sys.modules if name.startswith('codekernel.')))"
    done = subprocess.run(
        [sys.executable, "-c", f"{imports}; {listing}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    modules = done.stdout.split()
    assert "codekernel.runtime.workspace" in modules
    assert not {"codekernel.domain.chat", "codekernel.domain.turn"}.intersection(modules)
    assert "codekernel.domain.turn_events" not in modules


# What takes the memory of a relay, of which there is one for each front end and each agent.
RELAY_DOES_WITHOUT = {
    "argparse",
    "dataclasses",
    "logging",
    "msgspec",
    "hashlib",
    "html",
    "pathlib",
    "typing",
}


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("codekernel.cli.relay_startup", RELAY_DOES_WITHOUT),
        ("codekernel.cli.commands.mcp", RELAY_DOES_WITHOUT),
        ("codekernel.cli.commands.search", {"logging", "msgspec", "hashlib", "html"}),
        ("codekernel.cli.commands.web", {"msgspec", "html", "logging.handlers"}),
    ],
)
def test_clients_of_the_kernel_import_little(module: str, unwanted: set[str]) -> None:
    script = f"import sys, {module}; print(*sorted({unwanted} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("words", "needs_argparse"),
    [
        (("--repo", "missing"), False),
        (("--user-data", "elsewhere", "--repo", "missing"), False),
        (("--repo=missing",), True),
        (("--repo", "missing", "--standalone"), True),
    ],
)
def test_an_mcp_relay_needs_argparse_for_unusual_options_only(
    user_data: Path, tmp_path: Path, *, words: tuple[str, ...], needs_argparse: bool
) -> None:
    (tmp_path / "home").mkdir()
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "codekernel", "mcp", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        # The home folder is no project, so that it ends before there is a kernel.
        env={**bare_environment(user_data), "HOME": str(tmp_path / "home")},
        cwd=tmp_path / "home",
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "codekernel: " in done.stderr.splitlines()[-1]
    assert ("argparse" in done.stderr) == needs_argparse
