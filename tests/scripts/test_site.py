"""The documentation site: its pages, their links, its reference, and the commands that it shows."""

import contextlib
import io
import itertools
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from codekernel.cli.arguments import build_parser
from codekernel.handlers.context import main_router, session_router
from support.javascript import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import build_site
import site_reference

LINK = re.compile(r"\]\(([^)#\s]+)[^)\s]*\)")
# In documents for users: a line of a block that is one of our commands, as it is typed.
SHOWN = re.compile(r"^ {4}(codekernel .+)$", re.MULTILINE)
READ_BY_USERS = sorted(
    [*(ROOT / "docs").glob("start/*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "docs"
    build_site.lay_out(folder)
    return folder


def test_every_page_of_the_menu_is_there(pages: Path) -> None:
    listed = [page for section in build_site.MENU.values() for page in section.values()]
    assert len(listed) == len(set(listed))
    assert [page for page in listed if not (pages / page).is_file()] == []
    config = tomllib.loads(build_site.build_config())["project"]
    assert [title for section in config["nav"] for title in section] == list(build_site.MENU)


def test_every_link_leads_to_a_page_or_into_the_repository(pages: Path) -> None:
    for page in pages.rglob("*.md"):
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            if target.startswith(build_site.SOURCE):
                assert (ROOT / target.removeprefix(f"{build_site.SOURCE}/")).exists(), page
            elif "://" not in target:
                assert (page.parent / target).is_file(), f"{page.name}: {target}"


def test_a_page_fetches_nothing_from_elsewhere(pages: Path) -> None:
    assert tomllib.loads(build_site.build_config())["project"]["theme"]["font"] is False
    for page in pages.rglob("*.md"):
        assert not re.search(r"!\[[^\]]*\]\(https?:", page.read_text(encoding="utf-8")), page


def test_the_reference_has_every_command_with_its_options(pages: Path) -> None:
    text = (pages / "reference" / "commands.md").read_text(encoding="utf-8")
    for name, command in site_reference.list_commands(build_parser()):
        assert f"\n## {name}\n" in text
        for option in command._option_string_actions:
            assert option in text


def test_the_reference_has_every_message_and_every_setting(pages: Path) -> None:
    text = (pages / "reference" / "messages.md").read_text(encoding="utf-8")
    for name in main_router.routes.keys() | session_router.routes.keys():
        assert f"\n### {name}\n" in text
    settings = (pages / "reference" / "settings.md").read_text(encoding="utf-8")
    example = re.sub(r"//.*", "", (ROOT / "userData.example" / "settings.json").read_text("utf-8"))
    for section in re.findall(r'^  "(\w+)"', example, re.MULTILINE):
        assert f"{section}?:" in settings


@pytest.mark.parametrize("document", READ_BY_USERS, ids=lambda path: path.stem)
def test_every_command_that_is_shown_can_be_typed(document: Path) -> None:
    for line in SHOWN.findall(document.read_text(encoding="utf-8")):
        words = shlex.shlex(line, posix=True, punctuation_chars=True)
        words.whitespace_split = True
        typed = list(itertools.takewhile(lambda word: word[0] not in "|<>&;", words))[1:]
        refusal = find_refusal(typed)
        assert not refusal, f"{line}: {refusal}"


def find_refusal(words: list[str]) -> str:
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        build_parser().parse_args(words)
    return said.getvalue()


def test_chinese_and_english_pages_show_the_same_commands() -> None:
    for name in ("index", "tutorial"):
        folder = ROOT / "docs" / "start"
        english, chinese = (
            re.findall(r"^ {4}(\w+ \w+)", (folder / file).read_text(encoding="utf-8"), re.MULTILINE)
            for file in (f"{name}.md", f"{name}.zh.md")
        )
        assert english == chinese


def test_the_generator_is_pinned_and_no_user_gets_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (wanted,) = project["dependency-groups"]["docs"]
    name, _, version = wanted.partition("==")
    assert version
    for lock in ROOT.glob("requirements*.lock"):
        assert f"\n{name}==" not in lock.read_text(encoding="utf-8")
    assert f"| {name} " in (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")


def test_pages_can_be_laid_out_from_the_command_line(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "build_site.py"
    command = [sys.executable, str(script), "--pages", str(tmp_path / "pages")]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert (tmp_path / "pages" / "index.md").is_file()
    assert json.dumps("index.md") in build_site.build_config()
