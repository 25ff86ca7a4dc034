"""What a search is about, and the query that its options make."""

import argparse
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from codekernel.cli.arguments import find_parser
from codekernel.cli.output.pager import find_pager
from codekernel.cli.search_targets import build_query, is_git_url, take_first_place
from support.command_line import codekernel
from support.git_history import GitHistory

GIT = shutil.which("git") or "git"


def parse(*words: str) -> argparse.Namespace:
    return find_parser(["search"]).parse_args(["search", *words])


@pytest.mark.parametrize(
    ("words", "query"),
    [
        (["open", "socket"], "open socket"),
        (["-F", 'say "hi"'], r'"say \"hi\""'),
        (["-F", "-i", "a/b"], r"/a\/b/i"),
        (["-e", "a/b+"], r"/a\/b+/"),
        (["-e", "-i", r"a\/b"], r"/a\/b/i"),
        (["-i", "/x.y/"], "/x.y/i"),
        (
            ["-t", "go", "-g", "src", "--scope", "web app", "x"],
            'lang:"go" path:"src" scope:"web app" x',
        ),
    ],
)
def test_options_become_the_syntax_of_queries(words: list[str], query: str) -> None:
    args = parse(*words)
    assert build_query(args, args.query) == query


def test_a_url_or_a_folder_that_is_no_word_may_stand_in_front(tmp_path: Path) -> None:
    assert take_first_place([str(tmp_path), "x"]) == ([str(tmp_path)], ["x"])
    assert take_first_place(["https://h/a.git", "x"]) == (["https://h/a.git"], ["x"])
    assert take_first_place(["git@h:a/b", "x"]) == (["git@h:a/b"], ["x"])
    for words in (["src", "x"], ["/re.x/"], ["https://h/a"], ["std::vector", "x"]):
        assert take_first_place(words) == ([], words)
    assert not is_git_url("ext::sh -c id")
    assert not is_git_url("--upload-pack=x")


def test_the_pager_is_the_users_and_none_if_it_is_empty_or_missing() -> None:
    assert find_pager({"PAGER": "sort -r"}) == ["sort", "-r"]
    assert find_pager({"PAGER": "sort", "CODEKERNEL_PAGER": ""}) == []
    for command in ("cat", "no-such-program", '"open'):
        assert find_pager({"PAGER": command}) == []
    assert find_pager({"PAGER": "sort", "TERM": "dumb"}) == []


@pytest.fixture
def projects(tmp_path: Path) -> dict[str, Path]:
    found = {}
    for name, text in {
        "shop": "def sell_basket(item):\n    return item.price\n",
        "bank": "def transfer_money(account):\n    return account.money\n",
    }.items():
        history = GitHistory(tmp_path / name)
        history.commit(f"{name}: begin", {f"{name}.py": text})
        found[name] = tmp_path / name
    return found


@pytest.mark.slow
def test_several_repositories_are_searched_together_by_folder_name_and_filter(
    user_data: Path, projects: dict[str, Path], tmp_path: Path
) -> None:
    folders = [word for each in projects.values() for word in ("--repo", str(each))]

    def find(*words: str) -> list[str]:
        done = codekernel(user_data, tmp_path, "search", "--words", "-l", *words)
        assert done.stderr == ""
        return done.stdout.splitlines()

    shop, bank = (str(Path(name) / f"{name}.py") for name in projects)
    assert find(*folders, "money of the account") == [bank]
    assert sorted(find(*folders, "def")) == sorted([shop, bank])
    assert find("-a", "basket") == [shop]
    assert find("repo:bank def") == [bank]
    assert find("--repo", "bank", "def") == [bank]
    unknown = codekernel(user_data, tmp_path, "search", "--repo", "banc", "def")
    assert unknown.returncode == 2
    assert "near: bank" in unknown.stderr


@pytest.mark.slow
def test_a_url_is_cloned_searched_refreshed_and_deleted_with_its_index(
    user_data: Path, projects: dict[str, Path], tmp_path: Path
) -> None:
    url = projects["bank"].as_uri()
    first = codekernel(user_data, tmp_path, "search", "--words", "--jsonl", url, "transfer money")
    assert "cloning" in first.stderr
    (hit,) = map(json.loads, first.stdout.splitlines())
    assert (hit["filePath"], hit["line"], hit["lastLine"]) == ("bank.py", 1, 2)
    (clone,) = (user_data / "clones").glob("bank-*/bank")
    depth = [GIT, "-C", str(clone), "rev-list", "--count", "HEAD"]
    assert subprocess.run(depth, capture_output=True, text=True, check=True).stdout == "1\n"
    (projects["bank"] / "bank.py").write_text("def zeppelin(): ...\n", encoding="utf-8")
    subprocess.run([GIT, "-C", str(projects["bank"]), *COMMIT], check=True, capture_output=True)
    again = codekernel(user_data, tmp_path, "search", "--words", "-l", url, "zeppelin")
    assert (again.returncode, again.stderr) == (1, "")
    fresh = ["search", "--words", "-l", "--refresh", url, "zeppelin"]
    assert codekernel(user_data, tmp_path, *fresh).stdout.endswith("bank.py\n")
    removed = codekernel(user_data, tmp_path, "repos", "remove", "--force", "bank")
    assert removed.returncode == 0
    assert not clone.exists()
    assert projects["bank"].exists()
    gone = codekernel(user_data, tmp_path, "search", (tmp_path / "gone").as_uri(), "x")
    assert gone.returncode == 2
    assert "git clone" in gone.stderr
    assert not list((user_data / "clones").glob("gone-*/*"))


COMMIT = ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qam", "change")


@pytest.mark.slow
def test_impact_history_and_related_of_a_place(user_data: Path, projects: dict[str, Path]) -> None:
    bank = projects["bank"]
    (bank / "test_bank.py").write_text(
        "from bank import transfer_money\n\n\ndef test_money():\n    transfer_money(None)\n",
        encoding="utf-8",
    )
    done = codekernel(user_data, bank, "impact", "bank.py:1", "--json")
    impact = json.loads(done.stdout)
    assert [each["name"] for each in impact["changed"]] == ["transfer_money"]
    assert [each["filePath"] for each in impact["tests"]] == ["test_bank.py"]
    shown = codekernel(user_data, bank, "impact", "transfer_money").stdout
    assert "tests, 1 of 1 with any evidence, strongest first:\n  test_bank.py:4" in shown
    history = codekernel(user_data, bank, "history", "bank.py:1-2").stdout
    assert "bank: begin" in history
    above = codekernel(
        user_data, bank.parent, "history", "bank/bank.py:transfer_money", "--repo", str(bank)
    )
    assert above.stdout == f"bank/{history}"
    related = codekernel(user_data, bank, "related", "bank.py:1", "-l")
    assert related.stdout == "test_bank.py\n"
    unknown = codekernel(user_data, bank, "impact", "nothing_like_it")
    assert unknown.returncode == 2
    assert "nothing_like_it" in unknown.stderr
