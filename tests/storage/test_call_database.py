"""The facts about calls are a cache: what is damaged or in doubt is moved aside and read anew."""

from pathlib import Path

from codekernel.domain.call_graph import CallFacts
from codekernel.storage.catalog.call_database import (
    find_calls_damage,
    quarantine_calls_if_damaged,
    write_calls_checksums,
)
from codekernel.storage.catalog.call_store import CallWriter, StaleFile


def write(path: Path, number: int = 1) -> None:
    writer = CallWriter(path)
    writer.replace_facts([(StaleFile(number, "a.py", "python", b"d" * 16, 5), CallFacts())])
    writer.close()


def test_a_flipped_bit_in_facts_that_were_closed_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    write(path)
    write_calls_checksums(path)
    quarantine_calls_if_damaged(path)
    assert path.exists()
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    assert "checksum" in find_calls_damage(path)
    quarantine_calls_if_damaged(path)
    assert not path.exists()
    assert (tmp_path / "calls.db.unreadable").read_bytes() == content


def test_facts_that_a_kill_left_without_checksums_are_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    write(path)
    write_calls_checksums(path)
    write(path, 2)  # and never noted
    quarantine_calls_if_damaged(path)
    assert not path.exists()


def test_facts_that_another_has_open_are_used_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    other = CallWriter(path)
    other.replace_facts([(StaleFile(1, "a.py", "python", b"d" * 16, 5), CallFacts())])
    quarantine_calls_if_damaged(path)
    assert path.exists()
    other.close()


def test_a_folder_in_the_place_of_the_facts_is_moved_aside(tmp_path: Path) -> None:
    path = tmp_path / "calls.db"
    path.mkdir()
    assert "not a file" in find_calls_damage(path)
    quarantine_calls_if_damaged(path)
    write(path)
    assert path.is_file()
