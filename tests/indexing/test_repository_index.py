"""The life of one repository's index, with real threads, files, words, vectors and model."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from codekernel.domain.index import CHANGED_SINCE_INDEXED, FRESH
from codekernel.errors import RepoNotExist
from codekernel.storage.index_store import CATALOG_FILE
from indexing.followed import Followed, Open, static_plan

LOGIN = "def check_password(user, password):\n    return user.hash == digest(password)\n"
# Several groups of texts, so that a close falls between two of them.
FILES = 150
PAYMENT = "def refund(invoice):\n    invoice.amount = -invoice.amount\n    return invoice\n"


@pytest.fixture
def followed(open_index: Open) -> Followed:
    """A repository of two files, indexed."""
    opened = open_index(start=False)
    opened.write("auth/login.py", LOGIN)
    opened.write("billing.py", PAYMENT)
    opened.index.start(static_plan(1500))
    opened.settle()
    return opened


def git(root: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(
        ["git", *identity, *words],  # noqa: S607 - whichever git the tester has
        cwd=root,
        check=True,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(root.parent), "GIT_CONFIG_NOSYSTEM": "1"},
    )


def test_files_are_found_by_words_and_by_meaning(followed: Followed) -> None:
    assert followed.paths("check_password")[0] == "auth/login.py"
    assert followed.paths("give money back for a bill")[0] == "billing.py"
    hit = followed.search("refund")[0]
    assert (hit.content, hit.freshness, hit.chunk.symbols) == (PAYMENT, FRESH, ("refund",))


def test_each_file_is_told_from_zero_to_done_once(followed: Followed) -> None:
    assert sorted(followed.done()) == ["auth/login.py", "billing.py"]
    for path in ("auth/login.py", "billing.py"):
        values = [value for told, _, value in followed.told if told == path]
        assert values[0] == 0.0
        assert values == sorted(values)
        assert values[-1] == 1.0


def test_a_saved_file_is_found_and_a_deleted_one_is_not(followed: Followed) -> None:
    followed.write("mail.py", "def send_newsletter(subscribers): ...\n")
    followed.wait_until(lambda: "mail.py" in followed.done(), "mail.py indexed")
    assert followed.paths("send_newsletter")[0] == "mail.py"
    (followed.root / "mail.py").unlink()
    followed.wait_until(lambda: followed.done().count("mail.py") == 2, "mail.py forgotten")
    assert "mail.py" not in followed.paths("send_newsletter")


@pytest.mark.slow
def test_a_file_that_has_just_changed_is_not_shown_as_fresh(open_index: Open) -> None:
    opened = open_index()
    opened.write("a.py", LOGIN)
    opened.wait_until(lambda: "a.py" in opened.done(), "indexed")
    opened.settle()
    opened.close_watching()
    opened.write("a.py", LOGIN + PAYMENT)
    assert [hit.freshness for hit in opened.search("check_password")] == [CHANGED_SINCE_INDEXED]


def test_a_rename_embeds_nothing(followed: Followed) -> None:
    before = followed.commits()
    (followed.root / "auth" / "login.py").rename(followed.root / "auth" / "door.py")
    followed.wait_until(lambda: "auth/door.py" in followed.done(), "renamed")
    followed.settle()
    assert followed.paths("check_password")[0] == "auth/door.py"
    assert "auth/login.py" not in followed.paths("check_password")
    assert followed.commits() == before


def test_a_touched_file_is_not_cut_or_embedded_again(followed: Followed) -> None:
    before = followed.commits()
    number = followed.search("refund")[0].chunk.id
    os.utime(followed.root / "billing.py", ns=(1, 1))
    followed.wait_until(lambda: followed.known("billing.py").mtime_ns == 1, "the date noted")
    assert followed.commits() == before
    assert followed.search("refund")[0].chunk.id == number


@pytest.mark.slow
def test_another_branch_and_back_embeds_only_what_is_new(open_index: Open) -> None:
    opened = open_index(start=False)
    git(opened.root, "init", "-q", "-b", "main")
    opened.write("a.py", LOGIN)
    git(opened.root, "add", ".")
    git(opened.root, "commit", "-qm", "one")
    git(opened.root, "checkout", "-qb", "other")
    opened.write("a.py", PAYMENT)
    git(opened.root, "commit", "-qam", "two")
    opened.index.start(static_plan(1500))
    opened.settle()
    git(opened.root, "checkout", "-q", "main")
    opened.wait_until(lambda: opened.words("check_password") == ["a.py"], "main is found")
    opened.settle()
    before = opened.commits()
    for branch, query in (("other", "refund"), ("main", "check_password")):
        git(opened.root, "checkout", "-q", branch)
        opened.wait_until(lambda query=query: opened.words(query) == ["a.py"], branch)
    opened.settle()
    assert opened.commits() == before


@pytest.mark.slow
def test_a_clone_made_anew_embeds_nothing(followed: Followed) -> None:
    before = followed.commits()
    copy = followed.root.parent / "copy"
    shutil.copytree(followed.root, copy)
    shutil.rmtree(followed.root)
    copy.rename(followed.root)
    followed.wait_until(lambda: followed.paths("refund")[:1] == ["billing.py"], "found again")
    followed.settle()
    assert followed.commits() == before


def test_a_second_start_does_nothing_again(followed: Followed, open_index: Open) -> None:
    before = followed.commits()
    followed.close()
    again = open_index()
    again.settle()
    assert again.told == []
    assert again.commits() == before
    assert again.paths("refund")[0] == "billing.py"


@pytest.mark.slow
def test_a_new_ignore_rule_takes_files_out_and_its_end_brings_them_back(followed: Followed) -> None:
    followed.write(".gitignore", "auth/\n")
    followed.wait_until(lambda: "auth/login.py" not in followed.paths("check_password"), "ignored")
    followed.settle()
    refusal = followed.index.store.catalog.find_skipped("auth/")
    assert refusal
    assert ".gitignore" in refusal.detail
    (followed.root / ".gitignore").unlink()
    followed.wait_until(lambda: "auth/login.py" in followed.paths("check_password"), "back")
    followed.write("auth/later.py", "def second_factor(): ...\n")
    followed.wait_until(lambda: "auth/later.py" in followed.paths("second_factor"), "watched again")


def test_files_that_are_left_out_have_a_reason(followed: Followed) -> None:
    (followed.root / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    catalogue = followed.index.store.catalog
    followed.wait_until(lambda: catalogue.find_skipped("picture.png") is not None, "refused")
    refusal = catalogue.find_skipped("picture.png")
    assert refusal
    assert refusal.reason == "binary"
    assert followed.index.get_status().refused == {"binary": 1}


@pytest.mark.slow
def test_a_vanished_root_keeps_the_index_and_its_return_is_noticed(followed: Followed) -> None:
    away = followed.root.parent / "away"
    followed.root.rename(away)
    followed.wait_until(lambda: "gone" in followed.index.get_status().trouble, "trouble told")
    with pytest.raises(RepoNotExist):
        followed.paths("refund")
    assert followed.index.get_status().files == 2
    away.rename(followed.root)
    followed.wait_until(lambda: followed.index.get_status().trouble == "", "trouble over")
    assert followed.paths("refund")[0] == "billing.py"


def test_a_damaged_catalogue_is_set_aside_and_rebuilt_without_embedding(
    followed: Followed, open_index: Open
) -> None:
    before = followed.commits()
    followed.close()
    (followed.folder / CATALOG_FILE).write_bytes(b"rubbish" * 5000)
    again = open_index()
    again.settle()
    assert again.paths("refund")[0] == "billing.py"
    assert again.commits() == before
    assert (followed.folder / f"{CATALOG_FILE}.unreadable").exists()


@pytest.mark.slow
def test_lost_words_are_indexed_again_from_the_catalogue(
    followed: Followed, open_index: Open
) -> None:
    followed.close()
    shutil.rmtree(followed.folder / "words")
    again = open_index()
    again.settle()
    assert again.told == []
    assert again.words("check_password") == ["auth/login.py"]


@pytest.mark.slow
def test_damaged_words_are_indexed_again_from_the_catalogue(
    followed: Followed, open_index: Open
) -> None:
    followed.close()
    (followed.folder / "words" / "meta.json").write_text("{", encoding="utf-8")
    again = open_index()
    again.settle()
    assert again.words("check_password") == ["auth/login.py"]


@pytest.mark.slow
def test_damaged_vectors_are_embedded_again(followed: Followed, open_index: Open) -> None:
    followed.close()
    for file in (followed.folder / "vectors").rglob("*"):
        if file.is_file():
            file.write_bytes(b"rubbish")
    again = open_index()
    again.settle()
    assert again.vectors() == [2]
    assert again.paths("give money back for a bill")[0] == "billing.py"


def test_another_process_that_keeps_the_index_leaves_ours_reading(
    followed: Followed, open_index: Open
) -> None:
    second = open_index()
    assert second.index.get_status().state == "read-only"
    assert second.words("check_password") == ["auth/login.py"]
    followed.close()
    second.close()
    assert open_index().index.get_status().state != "read-only"


@pytest.mark.slow
def test_closing_in_the_middle_of_work_is_quick_and_loses_nothing(open_index: Open) -> None:
    opened = open_index(start=False)
    for number in range(FILES):
        opened.write(f"m{number}.py", f"def function_{number}():\n    return {number}\n" * 20)
    opened.index.start(static_plan(1500))
    opened.wait_until(lambda: len(opened.told) > FILES, "some of it")
    opened.close()
    again = open_index()
    again.settle()
    assert again.index.get_status().files == FILES
    assert again.paths("function_23")[0] == "m23.py"
