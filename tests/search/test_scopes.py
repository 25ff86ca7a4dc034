"""Packages of a repository by their manifests, and searches in one of them."""

from pathlib import Path

import pytest
from codekernel.errors import WrongParam
from codekernel.search.scopes import list_scopes
from support.searched_repository import open_searcher

MANIFESTS = {
    "packages/web/package.json": '{"name": "@acme/web-app", "private": true}',
    "packages/broken/package.json": "{",
    "crates/parser/Cargo.toml": '[package]\nname = "acme-parser"\n',
    "py/tool/pyproject.toml": '[project]\nname = "acme-tool"\n',
    "py/old/pyproject.toml": '[tool.poetry]\nname = "acme-old"\n',
    "go/go.mod": "module example.com/acme/server\n\ngo 1.22\n",
    "java/pom.xml": "<project><parent><artifactId>top</artifactId></parent>"
    "<artifactId>billing</artifactId></project>",
    "dotnet/Acme.Core.csproj": "<Project/>",
    "package.json": '{"name": "root"}',
}


def test_packages_are_called_by_manifest_and_by_folder() -> None:
    scopes = {scope.folder: scope for scope in list_scopes(MANIFESTS, MANIFESTS.__getitem__)}
    for folder, name in (
        ("packages/web", "@acme/web-app"),
        ("packages/web", "web-app"),
        ("packages/web", "packages/web"),
        ("packages/web", "WEB"),
        ("packages/broken", "broken"),
        ("crates/parser", "acme-parser"),
        ("py/tool", "acme-*"),
        ("py/old", "acme-old"),
        ("go", "example.com/acme/server"),
        ("go", "server"),
        ("java", "billing"),
        ("dotnet", "acme.core"),
        ("", "root"),
    ):
        assert scopes[folder].is_called(name), (folder, name)
    assert not scopes["java"].is_called("top")


def test_a_search_stays_in_its_scope(tmp_path: Path) -> None:
    texts = {
        "packages/web/package.json": '{"name": "@acme/web-app"}',
        "packages/web/src/close.ts": "export function closeSocket() {}\n",
        "packages/web2/close.ts": "export function closeSocket() {}\n",
        "tools/close.py": "def close_socket(): ...\n",
    }
    with open_searcher(tmp_path / "mono", texts) as searcher:

        def find(query: str) -> set[str]:
            return {hit.chunk.path for hit in searcher.search(query, 10)}

        assert find("scope:web-app close socket") == {"packages/web/src/close.ts"}
        assert find('scope:web-app "closeSocket"') == {"packages/web/src/close.ts"}
        assert find("scope:tools close socket") == {"tools/close.py"}
        assert find("-scope:web -path:json close socket") == {
            "packages/web2/close.ts",
            "tools/close.py",
        }
        assert find("scope:web path:web2 close socket") == set()
        with pytest.raises(WrongParam, match=r'no package here is called "wep".*web'):
            find("scope:wep close")
