"""Build the documentation site: ``python scripts/build_site.py [OUT]``; offline, into build/site.

The pages are the documents of the repository, put where a menu finds them; reference pages are made
from the code. Links between them are rewritten, others lead to the repository. Zensical makes HTML
of it, in an environment of its own (``--pages`` stops before that): pyproject.toml pins it.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path, PurePosixPath

import environment
from environment import ROOT

SOURCE = "https://github.com/codekernel/codekernel/blob/main"
# Section by section: title of the section, then file of the repository -> page of the site.
MENU: dict[str, dict[str, str]] = {
    "Start": {
        "docs/start/index.md": "index.md",
        "docs/start/tutorial.md": "tutorial.md",
        "docs/installing.md": "installing.md",
    },
    "中文": {
        "docs/start/index.zh.md": "zh/index.md",
        "docs/start/tutorial.zh.md": "zh/tutorial.md",
    },
    "How to": {
        f"docs/{name}.md": f"how-to/{name}.md"
        for name in (
            "queries",
            "models",
            "app",
            "install-agents",
            "vscode",
            "acp",
            "hub",
            "telegram",
            "lark",
            "sharing",
            "releasing",
        )
    },
    "Reference": {
        "docs/commands.md": "commands.md",
        "reference/commands.md": "reference/commands.md",
        "reference/settings.md": "reference/settings.md",
        "reference/messages.md": "reference/messages.md",
        "PROTOCOL.md": "protocol.md",
        "docs/protocols.md": "reference/protocols.md",
        "CHANGELOG.md": "changelog.md",
    },
    "Explanation": {
        "ARCHITECTURE.md": "explanation/architecture.md",
        "docs/dependencies.md": "explanation/dependencies.md",
        **{
            f"docs/{name}.md": f"explanation/{name}.md"
            for name in ("search", "call-chain", "privacy", "secrets", "confinement", "listeners")
        },
    },
}
# Of a transcript: the generator knows languages alone.
FENCE = re.compile(r"^```\w+ .*$", re.MULTILINE)
LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
PICTURES = (".png", ".svg", ".webp")


def main() -> int:
    """Lay out the pages and build the site."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("out", type=Path, nargs="?", default=ROOT / "build" / "site")
    parser.add_argument("--pages", action="store_true", help="lay out the pages, and no more")
    arguments = parser.parse_args()
    out = arguments.out.absolute()
    if Path(sys.prefix) != environment.FOLDER:  # the commands are read from the code
        python = environment.ensure(environment.RUNTIME_LOCK)
        return subprocess.run([python, *sys.argv], check=False).returncode
    if arguments.pages:
        lay_out(out)
        return 0
    with tempfile.TemporaryDirectory(prefix="site-") as folder:
        project = Path(folder)
        lay_out(project / "docs")
        (project / "zensical.toml").write_text(build_config(), encoding="utf-8")
        run_zensical(project)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(project / "site", out)
    print(out)
    return 0


def lay_out(folder: Path) -> None:
    """Write every page and every picture that one shows."""
    import site_reference  # noqa: PLC0415 - needs the kernel, which the first process has not

    places = {source: page for pages in MENU.values() for source, page in pages.items()}
    for source, page in places.items():
        if not source.endswith(".md") or source.startswith("reference/"):
            continue
        text = FENCE.sub("```text", (ROOT / source).read_text(encoding="utf-8"))
        _write(folder / page, rewrite_links(text, source, page, places, folder))
    for name, text in site_reference.build_reference().items():
        _write(folder / "reference" / name, text)


def rewrite_links(text: str, source: str, page: str, places: dict[str, str], folder: Path) -> str:
    """Return a page whose links lead to pages, to pictures beside it, or to the repository."""

    def rewrite(match: re.Match[str]) -> str:
        label, target = match.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        name, mark, anchor = target.partition("#")
        inside = os.path.normpath(PurePosixPath(source).parent / name).replace(os.sep, "/")
        if inside in places:
            led = places[inside]
        elif inside.endswith(PICTURES):
            led = f"pictures/{PurePosixPath(inside).name}"
            _write(folder / led, (ROOT / inside).read_bytes())
        else:
            return f"{label}({SOURCE}/{inside}{mark}{anchor})"
        relative = os.path.relpath(led, PurePosixPath(page).parent).replace(os.sep, "/")
        return f"{label}({relative}{mark}{anchor})"

    return LINK.sub(rewrite, text)


def build_config() -> str:
    """Return zensical.toml: the menu, and nothing that is fetched from elsewhere."""
    sections = []
    for title, pages in MENU.items():
        listed = ", ".join(json.dumps(page) for page in pages.values())
        sections.append(f"  {{ {json.dumps(title, ensure_ascii=False)} = [{listed}] }},")
    menu = "\n".join(sections)
    return f"""[project]
site_name = "codekernel"
site_description = "Search and discuss the code on your own machine."
repo_url = "{SOURCE.partition("/blob")[0]}"
nav = [
{menu}
]

[project.theme]
language = "en"
font = false
features = ["content.code.copy", "navigation.sections", "navigation.top", "search.highlight"]

[[project.theme.palette]]
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Dark"

[[project.theme.palette]]
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Light"
"""


def run_zensical(project: Path) -> None:
    """Build with the version that pyproject.toml pins, in an environment of its own."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    wanted = tomllib.loads(text)["dependency-groups"]["docs"]
    place = project / "environment"
    venv.create(place, with_pip=True)
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", *wanted], check=True)
    subprocess.run([programs / "zensical", "build", "--strict"], cwd=project, check=True)


def _write(file: Path, content: str | bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)


if __name__ == "__main__":
    sys.exit(main())
