"""What agents did not read: sums of whole files and of answers, and the bounds they give."""

from pathlib import Path

from codekernel.cli.commands.status import count_tokens, format_savings
from codekernel.runtime.savings import (
    Savings,
    dump_savings,
    parse_savings,
    read_savings,
    record_search,
)
from codekernel.storage.user_data import UserData
from support.command_line import codekernel


def test_each_answer_adds_the_files_that_it_names(tmp_path: Path) -> None:
    user_data = UserData(tmp_path)
    record_search(user_data, [3000, 9000], 1500)
    record_search(user_data, [600], 900)
    record_search(user_data, [], 50)  # nothing was found, so nothing was saved
    found = read_savings(user_data)
    assert (found.searches, found.answer_bytes) == (2, 2400)
    assert (found.file_bytes, found.first_file_bytes) == (12600, 3600)
    assert "not read: between 400 and 3,400 tokens" in format_savings(found)


def test_nothing_is_claimed_where_an_answer_is_larger_than_the_files() -> None:
    assert count_tokens(-500) == 0


def test_a_damaged_file_counts_as_none(tmp_path: Path) -> None:
    for content in (b"", b"[]", b'{"since": 1}', dump_savings(Savings())[:-5]):
        assert parse_savings(content) == Savings()
    assert read_savings(UserData(tmp_path / "gone")) == Savings()


def test_before_the_first_search_the_command_says_so(user_data: Path, repo: Path) -> None:
    done = codekernel(user_data, repo, "savings")
    assert done.returncode == 1
    assert "codekernel install" in done.stdout
