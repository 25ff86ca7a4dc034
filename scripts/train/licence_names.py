"""Licences by their SPDX names: from what people call them, and from their texts."""

import re

UNKNOWN = "not stated"

CALLED = {
    "apache": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd2": "BSD-2-Clause",
    "bsd3": "BSD-3-Clause",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "bsl-1": "BSL-1.0",
    "expat": "MIT",
    "expat with embedded exception": "MIT WITH fmt-exception",
    "gnu general public license (gpl)": "GPL",
    "gnu general public license v3 or later (gplv3+)": "GPL-3.0-or-later",
    "go": "BSD-3-Clause",
    "mit license": "MIT",
    "mpl-2": "MPL-2.0",
}
VAGUE = frozenset(["bsd", "bsd license", ""])  # the text has to say which
DEBIAN = re.compile(r"(A?L?GPL)-(\d)(?:\.(\d))?(\+?)", re.IGNORECASE)

SIGNS = {
    "Apache-2.0": r"apache license,? version 2\.0, january 2004|apache license, version 2\.0",
    "BSD": r"redistribution and use in source and binary forms",
    "EPL-1.0": r"eclipse public license -? ?v ?1\.0",
    "EPL-2.0": r"eclipse public license -? ?v ?2\.0",
    "GPL-2.0": r"gnu general public license version 2, june 1991",
    "GPL-2.0-or-later": r"gnu general public license version 2 or later",
    "GPL-3.0": r"gnu general public license version 3, 29 june 2007",
    "ISC": r"permission to use, copy, modify, and(?:/or)? distribute this software for any purpose",
    "LGPL-2.1": r"gnu lesser general public license version 2\.1",
    "LGPL-3.0": r"gnu lesser general public license version 3, 29 june 2007",
    "MIT": r"permission is hereby granted, free of charge, to any person obtaining",
    "MPL-2.0": r"mozilla public license,? version 2\.0",
    "PSF-2.0": r"python software foundation license version 2",
    "blessing": r"the author disclaims copyright to this source code",
    "Zlib": r"the origin of this software must not be misrepresented",
}
CLAUSES = 1500  # characters after BSD's first sentence in which its clauses are
ENDORSE = re.compile(r"neither the names?|endorse or promote")
NOISE = re.compile(r"[\s*/#;>]+")  # also what comments are marked with


def spdx(name: str) -> str:
    """The SPDX name of what a field calls a licence, or of several: "Expat or GPL-2+"."""
    plain = " ".join(name.split())
    if known := CALLED.get(plain.lower()):
        return known
    if ", and " in plain:  # which binds less than "or" before and after it
        sides = [spdx(side) for side in plain.split(", and ")]
        return " AND ".join(f"({side})" if " OR " in side else side for side in sides)
    parts = re.split(r"\s+(or|and)\s+", plain, flags=re.IGNORECASE)
    parts[::2] = map(_one, parts[::2])
    parts[1::2] = map(str.upper, parts[1::2])
    return " ".join(parts)


def in_text(text: str) -> list[str]:
    """The licences that a text holds or names, in the order they come in it."""
    plain = NOISE.sub(" ", text.lower())
    found: dict[str, int] = {}
    for name, sign in SIGNS.items():
        for place in re.finditer(sign, plain):
            found.setdefault(_clauses(name, plain[place.end() :]), place.start())
    return sorted(found, key=lambda name: found[name])


def _one(name: str) -> str:
    if known := CALLED.get(name.lower()):
        return known
    if debian := DEBIAN.fullmatch(name):
        kind, major, minor, later = debian.groups()
        return f"{kind.upper()}-{major}.{minor or 0}-{'or-later' if later else 'only'}"
    return name


def _clauses(name: str, rest: str) -> str:
    if name != "BSD":
        return name
    return "BSD-3-Clause" if ENDORSE.search(rest[:CLAUSES]) else "BSD-2-Clause"
