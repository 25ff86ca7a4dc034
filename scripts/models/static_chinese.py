"""Chinese characters and what they mean in English, from Unicode's Unihan tables.

A teacher that knows English cannot place 录; its definition, "copy, write down, record", can be.
"""

import bz2
import io
import re
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

TABLES = "./usr/share/unicode/Unihan_"
MAX_DEFINITION = 120
# Rows of GB 2312 hold its 3,755 common characters, rows of Big5 its 5,401 common ones.
SIMPLIFIED = ("gb2312", range(0xB0, 0xD8), range(0xA1, 0xFF))
TRADITIONAL = ("big5", range(0xA4, 0xC7), [*range(0x40, 0x7F), *range(0xA1, 0xFF)])


@dataclass(frozen=True)
class Characters:
    """Definitions of the common characters, and the simplified form of the traditional ones."""

    definitions: dict[str, str]
    simplified: dict[str, str]


def read(package: Path) -> Characters:
    """Read the tables out of Debian's package of Unicode data."""
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    data = io.BytesIO(subprocess.run(command, check=True, capture_output=True).stdout)
    with tarfile.open(fileobj=data) as opened:
        readings = _table(opened, "Readings", "kDefinition")
        variants = _table(opened, "Variants", "kSimplifiedVariant")
    common = _common(*SIMPLIFIED)
    simplified = {
        character: target
        for character in sorted(_common(*TRADITIONAL))
        if (target := _character(variants.get(character, ""))) in common and target != character
    }
    kept = sorted((common | _common(*TRADITIONAL)) - simplified.keys())
    definitions = {
        character: readings[character][:MAX_DEFINITION]
        for character in kept
        if character in readings
    }
    return Characters(definitions, {k: v for k, v in simplified.items() if v in definitions})


def _table(opened: tarfile.TarFile, name: str, field: str) -> dict[str, str]:
    file = opened.extractfile(f"{TABLES}{name}.txt.bz2")
    if file is None:
        raise ValueError(f"the package has no Unihan table {name}")
    lines = bz2.decompress(file.read()).decode().splitlines()
    rows = (line.split("\t", 2) for line in lines if line.startswith("U+"))
    return {_character(code): value for code, name, value in rows if name == field}


def _character(code: str) -> str:
    """The character of "U+4E00" or of the first of "U+4E00 U+4E01"; "" of nothing."""
    found = re.match(r"U\+([0-9A-F]+)", code)
    return chr(int(found[1], 16)) if found else ""


def _common(encoding: str, leads: range, trails: range | list[int]) -> set[str]:
    pairs = (bytes((lead, trail)) for lead in leads for trail in trails)
    decoded = (pair.decode(encoding, errors="ignore") for pair in pairs)
    return {character for character in decoded if len(character) == 1 and character >= "\u4e00"}


def other_letters() -> list[str]:
    """Single letters of further alphabets, so that no word is wholly unknown."""
    ranges = [(0xDF, 0x17F), (0x3B1, 0x3CA), (0x430, 0x460), (0x3041, 0x3097), (0x30A1, 0x30FB)]
    letters = [chr(code) for start, end in ranges for code in range(start, end)]
    syllables = _common("euc_kr", range(0xB0, 0xC9), range(0xA1, 0xFF))
    return [letter for letter in letters if letter.islower() or letter >= "\u3041"] + sorted(
        syllables
    )
