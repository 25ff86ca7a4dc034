import os
from pathlib import Path

import pytest
from agent.calling import Call

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX links")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "demo"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("x = 1\n")
    (folder / ".hidden").write_text("")
    return folder


def test_a_folder_is_listed_as_ls_does(repo: Path, call: Call) -> None:
    (repo / "b.txt").write_text("12345")
    outcome = call("list_directory")
    first, *rest = outcome.text.split("\n")
    assert first.startswith("total ")
    assert [line.split()[-1] for line in rest] == ["b.txt", "src"]
    assert " 5 " in rest[0]
    assert rest[1].startswith("d")
    assert ".hidden" in call("list_directory", path=".", show_hidden=True).text
    deep = call("list_directory", recursive=True).text
    assert "\nsrc:\ntotal " in deep
    assert deep.split("\n")[-1].endswith("a.py")


def test_what_is_no_folder_is_not_listed(call: Call) -> None:
    assert not call("list_directory", path="src/a.py").success
    assert not call("list_directory", path="missing").success


@posix_only
def test_a_circle_of_links_is_not_walked_in(repo: Path, call: Call) -> None:
    (repo / "src" / "up").symlink_to("..")
    assert call("list_directory", recursive=True).text.count("a.py") == 1


def test_a_folder_is_made_with_its_parents_unless_parents_is_false(repo: Path, call: Call) -> None:
    assert call("mkdir", path="x/y/z").success
    assert (repo / "x" / "y" / "z").is_dir()
    assert not call("mkdir", path="x/y/z").success
    assert call("mkdir", path="x/y/z", exist_ok=True).success
    assert not call("mkdir", path="src/a.py", exist_ok=True).success
    assert not call("mkdir", path="p/q", parents=False).success
    assert not (repo / "p").exists()
    assert call("mkdir", path="p", parents=False).success
    assert not call("mkdir", path="src/a.py/b").success


def test_a_file_is_deleted_and_a_folder_only_on_purpose(repo: Path, call: Call) -> None:
    for name, given in (
        ("delete_file", {"path": "src"}),
        ("delete_file", {"path": "missing"}),
        ("delete_path", {"path": "src"}),
        ("delete_path", {"path": "src", "recursive": False}),
        ("delete_path", {"path": "missing", "recursive": True}),
    ):
        assert not call(name, **given).success
    assert (repo / "src" / "a.py").exists()
    assert call("delete_file", path="src/a.py").text == "Deleted file: src/a.py"
    assert call("delete_path", path=".hidden").text == "Deleted file: .hidden"
    assert call("delete_path", path="src", recursive=True).success
    assert list(repo.iterdir()) == []


@posix_only
def test_of_a_link_the_link_is_deleted_and_not_what_it_leads_to(
    repo: Path, tmp_path: Path, call: Call
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").write_text("x")
    (repo / "file-link").symlink_to("src/a.py")
    (repo / "folder-link").symlink_to(tmp_path / "outside")
    (repo / "dead-link").symlink_to("nowhere")
    for link in ("file-link", "folder-link", "dead-link"):
        assert call("delete_file", path=link).success
        assert not os.path.lexists(repo / link)
    assert (repo / "src" / "a.py").exists()
    assert (tmp_path / "outside" / "precious").exists()
    (repo / "folder-link").symlink_to(tmp_path / "outside")
    assert call("delete_path", path="folder-link/", recursive=True).success
    assert (tmp_path / "outside" / "precious").exists()
    assert not call("delete_path", path="../outside", recursive=True).success
