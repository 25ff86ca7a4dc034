"""The life of one repository's index, with real threads, files, words, vectors and model."""

import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest
from codekernel.domain.index import CHANGED_SINCE_INDEXED, FRESH
from codekernel.errors import RepoNotExist
from codekernel.storage.index_store import CATALOG_FILE
from indexing.harness import IndexHarness, Open, static_plan

LOGIN = "def check_password(user, password):\n    return user.hash == digest(password)\n"
# Several groups of texts, so that a close falls between two of them.
FILES = 150
PAYMENT = "def refund(invoice):\n    invoice.amount = -invoice.amount\n    return invoice\n"


@pytest.fixture
def harness(open_index: Open) -> IndexHarness:
    """A repository of two files, indexed."""
    opened = open_index(start=False)
    opened.write("auth/login.py", LOGIN)
    opened.write("billing.py", PAYMENT)
    opened.index.start(static_plan(1500))
    opened.wait_until_idle()
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


def test_files_are_found_by_words_and_by_meaning(harness: IndexHarness) -> None:
    assert harness.search_paths("check_password")[0] == "auth/login.py"
    assert harness.search_paths("give money back for a bill")[0] == "billing.py"
    hit = harness.search("refund")[0]
    assert (hit.content, hit.freshness, hit.chunk.symbols) == (PAYMENT, FRESH, ("refund",))


def test_each_file_is_told_from_zero_to_done_once(harness: IndexHarness) -> None:
    assert sorted(harness.list_done()) == ["auth/login.py", "billing.py"]
    for path in ("auth/login.py", "billing.py"):
        values = [value for told, _, value in harness.reports if told == path]
        assert values[0] == 0.0
        assert values == sorted(values)
        assert values[-1] == 1.0


def test_a_saved_file_is_found_and_a_deleted_one_is_not(harness: IndexHarness) -> None:
    harness.write("mail.py", "def send_newsletter(subscribers): ...\n")
    harness.wait_until(lambda: "mail.py" in harness.list_done(), "mail.py indexed")
    assert harness.search_paths("send_newsletter")[0] == "mail.py"
    (harness.root / "mail.py").unlink()
    harness.wait_until(lambda: harness.list_done().count("mail.py") == 2, "mail.py forgotten")
    assert "mail.py" not in harness.search_paths("send_newsletter")


@pytest.mark.slow
def test_a_file_that_has_just_changed_is_not_shown_as_fresh(open_index: Open) -> None:
    opened = open_index()
    opened.write("a.py", LOGIN)
    opened.wait_until(lambda: "a.py" in opened.list_done(), "indexed")
    opened.wait_until_idle()
    opened.close_watcher()
    opened.write("a.py", LOGIN + PAYMENT)
    assert [hit.freshness for hit in opened.search("check_password")] == [CHANGED_SINCE_INDEXED]


def test_a_rename_embeds_nothing(harness: IndexHarness) -> None:
    before = harness.count_commits()
    (harness.root / "auth" / "login.py").rename(harness.root / "auth" / "door.py")
    harness.wait_until(lambda: "auth/door.py" in harness.list_done(), "renamed")
    harness.wait_until_idle()
    assert harness.search_paths("check_password")[0] == "auth/door.py"
    assert "auth/login.py" not in harness.search_paths("check_password")
    assert harness.count_commits() == before


def test_a_touched_file_is_not_cut_or_embedded_again(harness: IndexHarness) -> None:
    before = harness.count_commits()
    number = harness.search("refund")[0].chunk.id
    os.utime(harness.root / "billing.py", ns=(1, 1))
    harness.wait_until(lambda: harness.find_file("billing.py").mtime_ns == 1, "the date noted")
    assert harness.count_commits() == before
    assert harness.search("refund")[0].chunk.id == number


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
    opened.wait_until_idle()
    git(opened.root, "checkout", "-q", "main")
    opened.wait_until(lambda: opened.search_lexical("check_password") == ["a.py"], "main is found")
    opened.wait_until_idle()
    before = opened.count_commits()

    def is_found(query: str) -> bool:
        return opened.search_lexical(query) == ["a.py"]

    for branch, query in (("other", "refund"), ("main", "check_password")):
        git(opened.root, "checkout", "-q", branch)
        opened.wait_until(partial(is_found, query), branch)
    opened.wait_until_idle()
    assert opened.count_commits() == before


@pytest.mark.slow
def test_a_clone_made_anew_embeds_nothing(harness: IndexHarness) -> None:
    before = harness.count_commits()
    copy = harness.root.parent / "copy"
    shutil.copytree(harness.root, copy)
    shutil.rmtree(harness.root)
    copy.rename(harness.root)
    harness.wait_until(lambda: harness.search_paths("refund")[:1] == ["billing.py"], "found again")
    harness.wait_until_idle()
    assert harness.count_commits() == before


def test_a_second_start_does_nothing_again(harness: IndexHarness, open_index: Open) -> None:
    before = harness.count_commits()
    harness.close()
    again = open_index()
    again.wait_until_idle()
    assert again.reports == []
    assert again.count_commits() == before
    assert again.search_paths("refund")[0] == "billing.py"


@pytest.mark.slow
def test_a_new_ignore_rule_takes_files_out_and_its_end_brings_them_back(
    harness: IndexHarness,
) -> None:
    harness.write(".gitignore", "auth/\n")
    harness.wait_until(
        lambda: "auth/login.py" not in harness.search_paths("check_password"), "ignored"
    )
    harness.wait_until_idle()
    refusal = harness.index.store.catalog.find_skipped("auth/")
    assert refusal
    assert ".gitignore" in refusal.detail
    (harness.root / ".gitignore").unlink()
    harness.wait_until(lambda: "auth/login.py" in harness.search_paths("check_password"), "back")
    harness.write("auth/later.py", "def second_factor(): ...\n")
    harness.wait_until(
        lambda: "auth/later.py" in harness.search_paths("second_factor"), "watched again"
    )


def test_files_that_are_left_out_have_a_reason(harness: IndexHarness) -> None:
    (harness.root / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    catalogue = harness.index.store.catalog
    harness.wait_until(lambda: catalogue.find_skipped("picture.png") is not None, "refused")
    refusal = catalogue.find_skipped("picture.png")
    assert refusal
    assert refusal.reason == "binary"
    assert harness.index.get_status().refused == {"binary": 1}


@pytest.mark.slow
def test_a_vanished_root_keeps_the_index_and_its_return_is_noticed(harness: IndexHarness) -> None:
    away = harness.root.parent / "away"
    harness.root.rename(away)
    harness.wait_until(lambda: "gone" in harness.index.get_status().trouble, "trouble told")
    with pytest.raises(RepoNotExist):
        harness.search_paths("refund")
    assert harness.index.get_status().files == 2
    away.rename(harness.root)
    harness.wait_until(lambda: harness.index.get_status().trouble == "", "trouble over")
    assert harness.search_paths("refund")[0] == "billing.py"


def test_a_damaged_catalogue_is_set_aside_and_rebuilt_without_embedding(
    harness: IndexHarness, open_index: Open
) -> None:
    before = harness.count_commits()
    harness.close()
    (harness.folder / CATALOG_FILE).write_bytes(b"rubbish" * 5000)
    again = open_index()
    again.wait_until_idle()
    assert again.search_paths("refund")[0] == "billing.py"
    assert again.count_commits() == before
    assert (harness.folder / f"{CATALOG_FILE}.unreadable").exists()


@pytest.mark.slow
def test_lost_words_are_indexed_again_from_the_catalogue(
    harness: IndexHarness, open_index: Open
) -> None:
    harness.close()
    shutil.rmtree(harness.folder / "words")
    again = open_index()
    again.wait_until_idle()
    assert again.reports == []
    assert again.search_lexical("check_password") == ["auth/login.py"]


@pytest.mark.slow
def test_damaged_words_are_indexed_again_from_the_catalogue(
    harness: IndexHarness, open_index: Open
) -> None:
    harness.close()
    (harness.folder / "words" / "meta.json").write_text("{", encoding="utf-8")
    again = open_index()
    again.wait_until_idle()
    assert again.search_lexical("check_password") == ["auth/login.py"]


@pytest.mark.slow
def test_damaged_vectors_are_embedded_again(harness: IndexHarness, open_index: Open) -> None:
    harness.close()
    for file in (harness.folder / "vectors").rglob("*"):
        if file.is_file():
            file.write_bytes(b"rubbish")
    again = open_index()
    again.wait_until_idle()
    assert again.count_vectors() == [2]
    assert again.search_paths("give money back for a bill")[0] == "billing.py"


def test_another_process_that_keeps_the_index_leaves_ours_reading(
    harness: IndexHarness, open_index: Open
) -> None:
    second = open_index()
    assert second.index.get_status().state == "read-only"
    assert second.search_lexical("check_password") == ["auth/login.py"]
    harness.close()
    second.close()
    assert open_index().index.get_status().state != "read-only"


@pytest.mark.slow
def test_closing_in_the_middle_of_work_is_quick_and_loses_nothing(open_index: Open) -> None:
    opened = open_index(start=False)
    for number in range(FILES):
        opened.write(f"m{number}.py", f"def function_{number}():\n    return {number}\n" * 20)
    opened.index.start(static_plan(1500))
    opened.wait_until(lambda: len(opened.reports) > FILES, "some of it")
    opened.close()
    again = open_index()
    again.wait_until_idle()
    assert again.index.get_status().files == FILES
    assert again.search_paths("function_23")[0] == "m23.py"
