"""Pairs of English and Chinese texts about software: ``chinese_pairs.py WORK MIRRORS``.

Reads public translations out of git directories (MIRRORS/OWNER+NAME/repo) and writes
WORK/chinese_pairs.tsv: source, English, Chinese. Three forms: catalogs (.po), files that lie twice
in a repository or in two, and Kubernetes' pages, which keep each English paragraph in a comment
before the Chinese one. What does not lie side by side beyond doubt is left out. None of the
repositories is one of a yardstick. Nothing of this is committed.
"""

import io
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

Pair = tuple[str, str]

MAX_CHARS = 600  # of the English side; longer paragraphs align badly
MIN_RATIO, MAX_RATIO = 0.8, 9.0  # English letters to a Chinese character
LETTERS_A_HAN = 3

_HAN = re.compile("[\u4e00-\u9fff]")
_PO_ENTRY = re.compile(
    r'^msgid ((?:"(?:[^"\\]|\\.)*"\s*)+)(?:^msgid_plural (?:"(?:[^"\\]|\\.)*"\s*)+)?'
    r'^msgstr(?:\[0\])? ((?:"(?:[^"\\]|\\.)*"\s*)+)',
    re.MULTILINE,
)
_PO_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_FRONT_TITLE = re.compile(
    r"^(?:title|description|short-title|subtitle): *['\"]?(.+?)['\"]?$", re.MULTILINE
)
_FENCE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_COMMENTED = re.compile(r"<!--(.*?)-->(.*?)(?=<!--|\Z)", re.DOTALL)
_HEADING = re.compile(r"(#+) ")
_KINDS = {"|": "row", "<": "code"}
_ITEM = re.compile(r" *(?:[-*+]|\d+[.)]) ")
_MARKUP = re.compile(
    r"</?[A-Za-z][^>]*>|\{\{.*?\}\}|\{[#:%][^}]*\}|\]\([^)]*\)|!?\[|\]\[[^\]]*\]|\]"
    r"|https?://\S+|:[a-z:]+:(?=`)|&[a-z]+;|%\([a-z_]+\)[sd]|\{\w*\}|[`*|]"
)
_TARGET = re.compile(r"<[^<>`]*>(?=`)")  # of a link in reStructuredText
_ENGLISH_END, _CHINESE_END = (
    re.compile(r"(?<=[.!?:;]) +"),
    re.compile(r"(?<=[\u3002\uff01\uff1f\uff1a\uff1b])"),
)

# VS Code's pseudo language is English with other letters: the catalog has no English twin.
_PSEUDO = str.maketrans(
    "ÆßÇÐËFGHÏJKLMÑØPQR§TÛVWXÝZæþçðëïñøµý", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdeinouy"
)


@dataclass(frozen=True)
class Catalogs:
    """Files of gettext."""

    repo: str
    licence: str
    folder: str = ""
    ends: str = ".po"
    branch: str = "HEAD"


@dataclass(frozen=True)
class Twins:
    """Pages of one path, but for where each language lies."""

    english: str
    chinese: str
    licence: str
    begins: tuple[str, str]
    ends: tuple[str, str] = (".md", ".md")


SOURCES: tuple[Catalogs | Twins, ...] = (
    Catalogs("python/python-docs-zh-cn", "CC0-1.0", branch="3.13"),
    Catalogs("godotengine/godot-docs-l10n", "CC-BY-3.0", "sphinx/po/zh_CN"),
    Catalogs("godotengine/godot-editor-l10n", "MIT", "editor/zh_Hans.po"),
    Catalogs("godotengine/godot-editor-l10n", "MIT", "properties/zh_Hans.po"),
    Twins("mdn/content", "mdn/translated-content", "CC-BY-SA-2.5",
          ("files/en-us/", "files/zh-cn/")),
    Twins("vuejs/docs", "vuejs-translations/docs-zh-cn", "CC-BY-4.0", ("src/", "src/")),
    Twins("reactjs/react.dev", "reactjs/zh-hans.react.dev", "CC-BY-4.0",
          ("src/content/", "src/content/")),
    Twins("pingcap/docs", "pingcap/docs-cn", "CC-BY-SA-3.0", ("", "")),
    Twins("apache/flink", "apache/flink", "Apache-2.0", ("docs/content/", "docs/content.zh/")),
    Twins("apache/apisix", "apache/apisix", "Apache-2.0", ("docs/en/latest/", "docs/zh/latest/")),
    Twins("apache/doris-website", "apache/doris-website", "Apache-2.0",
          ("docs/", "i18n/zh-CN/docusaurus-plugin-content-docs/current/")),
    Twins("istio/istio.io", "istio/istio.io", "Apache-2.0", ("content/en/", "content/zh/")),
    Twins("rust-lang/book", "KaiserY/trpl-zh-cn", "MIT or Apache-2.0", ("src/", "src/")),
    Twins("webpack/webpack.js.org", "docschina/webpack.js.org", "CC-BY-4.0",
          ("src/content/", "src/content/"), (".mdx", ".mdx")),
    Twins("cloudwego/cloudwego.github.io", "cloudwego/cloudwego.github.io", "Apache-2.0",
          ("content/en/", "content/zh/")),
    Twins("electron/i18n", "electron/i18n", "BSD-3-Clause", ("content/en-US/", "content/zh-CN/")),
    Twins("ant-design/ant-design", "ant-design/ant-design", "MIT", ("", ""),
          (".en-US.md", ".zh-CN.md")),
)  # fmt: skip
COMMENTED = ("kubernetes/website", "CC-BY-4.0", "content/zh-cn/")
PSEUDO = ("microsoft/vscode-loc", "MIT", "i18n/vscode-language-pack-")


def main(work: Path, mirrors: Path) -> None:
    """Write every pair once, and print how many each source has."""
    seen: set[Pair] = set()
    counts: Counter[str] = Counter()
    with (work / "chinese_pairs.tsv").open("w", encoding="utf-8") as out:
        for name, pairs in _read_sources(mirrors):
            for pair in pairs:
                for english, chinese in _split_sentences(*map(_clean, pair)):
                    if (english, chinese) in seen or not _is_pair(english, chinese):
                        continue
                    seen.add((english, chinese))
                    counts[name] += 1
                    out.write(f"{name}\t{english}\t{chinese}\n")
            print(f"{name}: {counts[name]}", flush=True)
    print(f"all: {counts.total()}")


def _read_sources(mirrors: Path) -> Iterator[tuple[str, Iterator[Pair]]]:
    for source in SOURCES:
        if isinstance(source, Catalogs):
            yield source.repo, _read_catalogs(mirrors, source)
        else:
            yield source.chinese, _read_twins(mirrors, source)
    yield COMMENTED[0], _read_commented(mirrors)
    yield PSEUDO[0], _read_pseudo(mirrors)


def _read_files(
    mirrors: Path, repo: str, folder: str, ends: str, branch: str = "HEAD"
) -> Iterator[tuple[str, str]]:
    """Paths and texts of a branch below a folder; what a mirror lacks is left out."""
    git = ["git", "-C", str(mirrors / repo.replace("/", "+") / "repo")]
    listed = subprocess.run(
        [*git, "ls-tree", "-rz", "--full-tree", branch, *filter(None, [folder])],
        check=True, capture_output=True,
    ).stdout.decode()  # fmt: skip
    rows = (row.partition("\t") for row in listed.split("\0"))
    ids = {path: head.split()[2] for head, _, path in rows if path.endswith(ends)}
    asked = "".join(f"{number}\n" for number in ids.values()).encode()
    answer = io.BytesIO(
        subprocess.run(
            [*git, "cat-file", "--batch"], input=asked, check=True, capture_output=True
        ).stdout
    )
    for path in ids:
        _, kind, *size = answer.readline().split()
        if kind != b"missing":
            yield path, answer.read(int(size[0])).decode(errors="replace")
            answer.read(1)


def _read_catalogs(mirrors: Path, source: Catalogs) -> Iterator[Pair]:
    for _, text in _read_files(mirrors, source.repo, source.folder, source.ends, source.branch):
        for english, chinese in _PO_ENTRY.findall(text):
            yield _unquote(english), _unquote(chinese)


def _unquote(quoted: str) -> str:
    joined = "".join(_PO_STRING.findall(quoted))
    return joined.replace("\\n", " ").replace('\\"', '"').replace("\\\\", "\\")


def _read_twins(mirrors: Path, source: Twins) -> Iterator[Pair]:
    (english_begin, chinese_begin), (english_end, chinese_end) = source.begins, source.ends
    english = {
        path[len(english_begin) : -len(english_end)]: text
        for path, text in _read_files(mirrors, source.english, english_begin, english_end)
    }
    for path, text in _read_files(mirrors, source.chinese, chinese_begin, chinese_end):
        twin = english.get(path[len(chinese_begin) : -len(chinese_end)])
        if twin is not None and _HAN.search(text):
            yield from _pair_pages(twin, text)


def _pair_pages(english: str, chinese: str) -> Iterator[Pair]:
    """Pair the blocks of sections of one form; if headings differ, nothing."""
    titles = [
        _FRONT_TITLE.findall((_FRONT_MATTER.match(it) or [""])[0]) for it in (english, chinese)
    ]
    if len(titles[0]) == len(titles[1]):
        yield from zip(*titles, strict=True)
    sections = [_split_sections(_FRONT_MATTER.sub("", it)) for it in (english, chinese)]
    if [level for level, _ in sections[0]] != [level for level, _ in sections[1]]:
        return
    for (_, ours), (_, theirs) in zip(*sections, strict=True):
        if [kind for kind, _ in ours] == [kind for kind, _ in theirs]:
            yield from ((one, other) for (_, one), (_, other) in zip(ours, theirs, strict=True))
        elif ours and theirs and ours[0][0] == theirs[0][0] == "heading":
            yield ours[0][1], theirs[0][1]


def _split_sections(text: str) -> list[tuple[int, list[tuple[str, str]]]]:
    """Return each section's level and its blocks with their kinds."""
    text = _FENCE.sub("\n\n<code>\n\n", _COMMENT.sub("", text))
    found: list[tuple[int, list[tuple[str, str]]]] = [(0, [])]
    for block in _split_blocks(text):
        if heading := _HEADING.match(block):
            found.append((len(heading[1]), [("heading", block[heading.end() :])]))
        else:
            item = _ITEM.match(block)
            kind = "item" if item else _KINDS.get(block[0], "text")
            found[-1][1].append((kind, block[item.end() :] if item else block))
    return found


def _split_blocks(text: str) -> Iterator[str]:
    """Yield paragraphs, each item of a list, each row of a table, and each heading."""
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        stripped = line.strip()
        is_own = stripped.startswith(("|", "#", "<code>"))
        if (not stripped or is_own or _ITEM.match(line)) and lines:
            yield " ".join(lines)
            lines = []
        if is_own:
            yield stripped
        elif stripped:
            lines.append(stripped)


def _read_commented(mirrors: Path) -> Iterator[Pair]:
    repo, _, folder = COMMENTED
    for _, text in _read_files(mirrors, repo, folder, ".md"):
        for english, chinese in _COMMENTED.findall(_FRONT_MATTER.sub("", text)):
            ours, theirs = (_split_sections(it) for it in (english, chinese))
            if [level for level, _ in ours] != [level for level, _ in theirs]:
                continue
            for (_, one), (_, other) in zip(ours, theirs, strict=True):
                if [kind for kind, _ in one] == [kind for kind, _ in other]:
                    yield from ((a, b) for (_, a), (_, b) in zip(one, other, strict=True))


def _read_pseudo(mirrors: Path) -> Iterator[Pair]:
    repo, _, begin = PSEUDO
    texts: dict[str, dict[str, str]] = {}
    for language in ("qps-ploc", "zh-hans"):
        folder = f"{begin}{language}/translations/"
        texts[language] = {
            f"{path[len(folder) :]} {key}": value
            for path, text in _read_files(mirrors, repo, folder, ".json")
            for key, value in _list_leaves(json.loads(text))
        }
    for key, value in texts["zh-hans"].items():
        if english := texts["qps-ploc"].get(key):
            yield english.translate(_PSEUDO), value


def _list_leaves(node: object, at: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(node, str):
        yield at, node
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from _list_leaves(value, f"{at} {key}")


def _clean(text: str) -> str:
    return " ".join(_MARKUP.sub(" ", _TARGET.sub("", text)).split())


def _split_sentences(english: str, chinese: str) -> Iterable[Pair]:
    ours, theirs = _ENGLISH_END.split(english), [it for it in _CHINESE_END.split(chinese) if it]
    if len(ours) == len(theirs) and len(ours) > 1:
        return zip(ours, theirs, strict=True)
    return [(english, chinese)]


def _is_pair(english: str, chinese: str) -> bool:
    """Return whether lengths and letters are those of a translation."""
    han = len(_HAN.findall(chinese))
    letters = len(re.findall("[A-Za-z]", english))
    is_english = not _HAN.search(english) and 0 < len(english) <= MAX_CHARS
    weight = han + len(re.findall("[A-Za-z]", chinese)) / LETTERS_A_HAN
    return is_english and bool(han) and MIN_RATIO <= letters / weight <= MAX_RATIO


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
