"""What a package says about its licence: a field of its metadata, or a licence file's text."""

import email
import json
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

from licence_names import UNKNOWN, VAGUE, in_text, spdx

MAX_NAME = 60  # characters; beyond this a field holds the licence's text
AT_THE_TOP = r"[^/]+/(?:(?:licen[cs]e|copying)(?:\.txt|\.md)?|[^/]+\.cabal)"
CABAL = re.compile(r"^cabal-version:", re.MULTILINE | re.IGNORECASE)
WHEEL_TEXT = re.compile(r"[^/]+\.dist-info/(?:licenses/)?licen[cs]e[^/]*", re.IGNORECASE)
FIELD = r"^{name}:[ \t]*(.*(?:\n[ \t]+.*)*)"


@dataclass(frozen=True, slots=True)
class Licence:
    """The licence of a package as a whole, others that single files of it have, and who says so."""

    name: str
    parts: tuple[str, ...]
    stated_in: str


def of_wheel(archive: Path) -> Licence:
    """License-Expression, License or the classifiers; the text where these do not say which."""
    with zipfile.ZipFile(archive) as opened:
        (path,) = (name for name in opened.namelist() if re.fullmatch(r"[^/]+/METADATA", name))
        fields = email.message_from_bytes(opened.read(path))
        texts = [opened.read(name) for name in opened.namelist() if WHEEL_TEXT.fullmatch(name)]
    for field, name in _wheel_fields(fields):
        if len(name) > MAX_NAME:
            return _from_text(name, f"METADATA {field}, its text")
        if name.lower() not in VAGUE:
            stated = name if field == "License-Expression" else spdx(name)  # the first is SPDX's
            return Licence(stated, (), f"METADATA {field}")
    return _from_text("\n".join(_decode(text) for text in texts), "LICENSE, its text")


def _wheel_fields(fields: Message) -> Iterator[tuple[str, str]]:
    for field in ("License-Expression", "License"):
        yield field, fields[field] or ""
    classifiers = [one.split(" :: ") for one in fields.get_all("Classifier", [])]
    names = [spdx(one[-1]) for one in classifiers if one[0] == "License"]
    yield "Classifier", " AND ".join(names)


def of_npm(archive: Path) -> Licence:
    """The field of package.json."""
    with tarfile.open(archive) as opened:
        text = next(_members(opened, r"[^/]+/package\.json"))
    return Licence(spdx(json.loads(text).get("license", "")) or UNKNOWN, (), "package.json")


def of_deb(archive: Path) -> Licence:
    """What debian/copyright says of all files, and of some; its text where it has no fields."""
    command = ["dpkg-deb", "--fsys-tarfile", str(archive)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as unpacking,
        tarfile.open(fileobj=unpacking.stdout, mode="r|") as opened,
    ):
        text = next(_members(opened, r"\./usr/share/doc/[^/]+/copyright"), "")
        unpacking.kill()
    stated = dict[str, str]()  # by the files it is about
    for paragraph in re.split(r"\n\s*\n", text):
        about, name = (_field(word, paragraph) for word in ("Files", "License"))
        files = about.split()
        if files and name and not all(file.startswith("debian/") for file in files):
            stated.setdefault("*" if "*" in files else about, spdx(name.partition("\n")[0]))
    if not stated:
        return _from_text(text, "copyright, its text")
    whole = stated.get("*") or next(iter(stated.values()))
    return Licence(whole, tuple(sorted(set(stated.values()) - {whole})), "copyright")


def of_source(archive: Path, path: str = AT_THE_TOP) -> Licence:
    """A Haskell package's field, or the licence file at ``path``."""
    with tarfile.open(archive) as opened:
        texts = list(_members(opened, path))
    for text in texts:
        if CABAL.search(text):
            return Licence(spdx(_field("license", text)), (), ".cabal")
    return _from_text("\n".join(texts), "licence file, its text")


def _from_text(text: str, stated_in: str) -> Licence:
    """The first licence of a text; what follows is about parts."""
    name, *parts = in_text(text) or [UNKNOWN]
    return Licence(name, tuple(parts), stated_in)


def _members(opened: tarfile.TarFile, path: str) -> Iterator[str]:
    """The texts of the files whose path is like ``path``."""
    for member in opened:
        if member.isfile() and re.fullmatch(path, member.name, re.IGNORECASE):
            file = opened.extractfile(member)
            yield _decode(file.read()) if file else ""


def _field(name: str, text: str) -> str:
    found = re.search(FIELD.format(name=name), text, re.MULTILINE | re.IGNORECASE)
    return found[1].strip() if found else ""


def _decode(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
