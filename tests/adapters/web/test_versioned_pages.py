"""The addresses of what a page loads: kept by a browser for ever, and another for other content."""

import os
import re
from pathlib import Path

import pytest
from adapters.web.browsing import Browser
from codekernel.adapters.static_pages import StaticPages
from codekernel.adapters.web.versioned_pages import VersionedPages

_DOCUMENT = """<!doctype html>
<link rel="stylesheet" href="styles/base.css" />
<script src="first.js"></script>
<script type="module" src="shell/main.js"></script>
<a href="other.html">elsewhere</a>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "list.html": _DOCUMENT,
        "styles/base.css": "a { color: red }",
        "first.js": "",
        "shell/main.js": "import { a } from '../common/a.js';\nimport('../later.js');",
        "common/a.js": "/* from './gone.js' */ export { b } from './b.js';",
        "common/b.js": "import './a.js';",
        "later.js": "",
        "list/main.js": "import '../common/b.js';",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


def _read_document(pages: VersionedPages) -> str:
    document = pages.read("/list.html")
    assert document
    assert document.cache_control is None
    return document.content.decode()


def _list_addresses(document: str, tag: str) -> list[str]:
    return re.findall(rf'<{tag}[^>]*(?:src|href)="([^"]+)"', document)


def test_what_a_document_loads_is_kept_for_ever(folder: Path) -> None:
    pages = VersionedPages(StaticPages(folder))
    document = _read_document(pages)
    addresses = _list_addresses(document, "(?:script|link)")
    assert all(re.match(r"/v/[0-9a-f]{18}/", each) for each in addresses)
    for each in addresses:
        file = pages.read(each)
        assert file
        assert "immutable" in str(file.cache_control)
    assert '<a href="other.html">' in document


def test_all_modules_that_a_page_needs_at_once_are_announced(folder: Path) -> None:
    document = _read_document(VersionedPages(StaticPages(folder)))
    announced = re.findall(r'rel="modulepreload" href="/v/\w+/([^"]+)"', document)
    assert sorted(announced) == ["common/a.js", "common/b.js", "list/main.js", "shell/main.js"]
    assert document.index("modulepreload") > document.index("stylesheet")


def test_other_content_has_another_address_and_the_old_one_is_not_kept(folder: Path) -> None:
    pages = VersionedPages(StaticPages(folder))
    before = _list_addresses(_read_document(pages), "script")
    (folder / "first.js").write_text("changed", encoding="utf-8")
    os.utime(folder / "first.js", ns=(1, 1))
    after = _list_addresses(_read_document(pages), "script")
    assert not set(before) & set(after)
    old, new = pages.read(before[0]), pages.read(after[0])
    assert old
    assert new
    assert old.content == new.content == b"changed"
    assert old.cache_control is None
    assert "immutable" in str(new.cache_control)


@pytest.mark.parametrize("path", ["/v", "/v/", "/v/x", "/v/x/", "/v/x/gone.js", "/v/x/../a.html"])
def test_a_version_leads_to_nothing_else(folder: Path, path: str) -> None:
    assert VersionedPages(StaticPages(folder)).read(path) is None


def test_a_browser_is_told_so_and_gets_nothing_without_its_cookie(known: Browser) -> None:
    status, headers, document = known.get("/repository.html")
    assert (status, headers["Cache-Control"]) == (200, "no-cache")
    script = _list_addresses(document, "script")[0]
    status, headers, _ = known.get(script)
    assert (status, headers["Cache-Control"]) == (
        200,
        "private, max-age=31536000, immutable",
    )
    assert Browser(known.port).get(script)[0] == 403
