"""Everything that is not a programming language: headings, cells, keys, components, plain text."""

import json

from codekernel.chunking.chunker import chunk_text
from codekernel.domain.index import Chunk


def paths(text: str, language: str, budget: int) -> list[tuple[str, ...]]:
    return [chunk.symbols for chunk in chunks_of(text, language, budget)]


def chunks_of(text: str, language: str, budget: int) -> list[Chunk]:
    [chunks] = chunk_text(text, language, [budget])
    return chunks


MARKDOWN = """\
---
title: Shop
---
# Shop

Sells things to people who come in.

## Opening

From nine to five on every day of the week.

```sh
# not a heading
open --shop
```

Closing
-------

At five o'clock, and not a minute later than that.
"""


def test_markdown_is_cut_at_its_headings() -> None:
    assert paths(MARKDOWN, "markdown", 110) == [
        ("Shop",),
        ("Shop", "Opening"),
        ("Shop", "Closing"),
    ]
    kinds = {chunk.kind for chunk in chunks_of(MARKDOWN, "markdown", 110)}
    assert kinds == {"heading"}


def test_fenced_code_stays_whole() -> None:
    parts = [MARKDOWN[one.begin : one.end] for one in chunks_of(MARKDOWN, "markdown", 70)]
    assert any("```sh\n# not a heading\nopen --shop\n```" in part for part in parts)


RST = """\
====
Shop
====

Sells things to people.

Opening
=======

From nine to five.

Holidays
--------

None, and nobody minds.
"""


def test_restructured_text_is_cut_at_its_headings() -> None:
    assert paths(RST, "rst", 50) == [
        ("Shop",),
        ("Shop", "Opening"),
        ("Shop", "Opening", "Holidays"),
    ]


def test_a_notebook_is_cut_along_its_cells() -> None:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Sales\n", "of the year"]},
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["x = 1\n", "print(x)\n"]},
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["y = 2\n", "print(y)\n"]},
    ]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, indent=1) + "\n"
    chunks = chunks_of(text, "notebook", 190)
    named = {chunk.symbols for chunk in chunks if chunk.kind == "cell"}
    assert {("Sales", "cell 1"), ("Sales", "cell 2"), ("Sales", "cell 3")} == named
    [third] = [chunk for chunk in chunks if chunk.symbols == ("Sales", "cell 3")]
    lines = text.split("\n")[third.begin_line : third.end_line]
    assert '    "y = 2\\n",' in lines
    assert '    "print(y)\\n"' in lines


def test_a_notebook_that_is_none_is_json() -> None:
    assert chunks_of("[1, 2]\n", "notebook", 100) == [Chunk(0, 1, 0, 7)]
    assert chunks_of("", "notebook", 100) == []


def test_json_yaml_and_toml_are_cut_at_their_keys() -> None:
    value = {f"key{number}": number for number in range(4)}
    text = json.dumps({"first": value, "second": value}, indent=2)
    assert paths(text, "json", 90) == [("first",), ("second",)]
    yaml = "".join(f"{name}:\n  a: 1\n  b: [1, 2]\n  c: three\n" for name in ("one", "two"))
    assert paths(yaml, "yaml", 40) == [("one",), ("two",)]
    toml = "".join(f"[{name}]\na = 1\nb = [1, 2]\nc = 'three'\n\n" for name in ("x.y", "z"))
    assert paths(toml, "toml", 40) == [("x.y",), ("z",)]
    assert not any(chunk.defined_names for chunk in chunks_of(toml, "toml", 40))


def test_css_is_cut_at_its_rules() -> None:
    text = ".basket > a {\n  color: red;\n}\n\n@media (width) {\n  b { color: blue; }\n}\n"
    assert paths(text, "css", 45) == [(".basket > a",), ("@media (width)",)]


VUE = """\
<template>
  <div class="basket">
    <p>{{ total }}</p>
  </div>
</template>

<script setup lang="ts">
import { computed } from 'vue';

interface Item { price: number }

function total(items: Item[]): number {
  return items.reduce((sum, one) => sum + one.price, 0);
}
</script>

<style scoped>
.basket { color: red; }
</style>
"""


def test_a_component_is_cut_at_its_blocks_and_its_script_has_names() -> None:
    for language in ("vue", "svelte", "html"):
        chunks = chunks_of(VUE, language, 140)
        [total] = [chunk for chunk in chunks if chunk.symbols == ("total",)]
        assert total.signature == "function total(items: Item[]): number"
        assert [name for chunk in chunks for name in chunk.defined_names] == ["Item", "total"]
        assert VUE[chunks[0].begin : chunks[0].end].rstrip().endswith("</template>")


def test_plain_text_is_cut_at_blank_lines_and_low_indentation() -> None:
    text = "one\n  two\n  three\n\nfour\n  five\n  six\n"
    parts = [text[one.begin : one.end] for one in chunks_of(text, "text", 22)]
    assert parts == ["one\n  two\n  three\n\n", "four\n  five\n  six\n"]
    assert {one.kind for one in chunks_of(text, "unheard of", 22)} == {"lines"}
