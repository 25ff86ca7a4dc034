"""What is said of a damaged index, and when the disk is to blame."""

from pathlib import Path

from codekernel.indexing.damage_report import DamageReport
from codekernel.storage.engines import CatalogDamaged

DAMAGE = CatalogDamaged("catalogue.db is damaged: malformed.")


def test_the_cause_of_a_trouble_is_damage_only_while_the_trouble_is_the_damage(
    tmp_path: Path,
) -> None:
    report = DamageReport(tmp_path, max_rebuilds=3)
    assert report.find_cause("") == ""
    assert report.find_cause("the folder is gone") == ""
    report.note_quarantined([tmp_path / "words"])
    assert "words was moved aside" in report.message
    assert report.find_cause(report.message) == "damage"
    assert report.find_cause("the folder is gone") == ""


def test_a_disk_is_faulty_when_damage_returns_before_the_index_was_once_whole(
    tmp_path: Path,
) -> None:
    report = DamageReport(tmp_path, max_rebuilds=2)
    for has_settled, is_faulty in ((True, False), (False, False), (False, True), (True, False)):
        report.note_damage(DAMAGE, has_settled=has_settled)
        assert report.is_disk_faulty == is_faulty
        assert ("check the disk" in report.message) == is_faulty
