"""Thousands of rules mean what they mean to git, and cost about what they cost git."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from codekernel.files.git_repository import read_git_settings
from codekernel.files.ignore_rules import IgnoreRuleSet, parse_ignore_file, parse_pattern

# Before, 20,000 suffixes took 143 s, and patterns with several double stars never ended.
TIMEOUT_SECONDS = 60
MANY = 20_000


def word(chance: random.Random) -> str:
    return "".join(chance.choice("abcdefgh") for _ in range(chance.randint(1, 4)))


KINDS: dict[str, Callable[[random.Random], str]] = {
    "name": word,
    "suffix": lambda chance: f"*.{word(chance)}",
    "prefix": lambda chance: f"{word(chance)}*",
    "inside": lambda chance: f"*{word(chance)}*",
    "both ends": lambda chance: f"{word(chance)}*{word(chance)}",
    "path": lambda chance: f"{word(chance)}/{word(chance)}",
    "rooted": lambda chance: f"/{word(chance)}*",
    "deep": lambda chance: f"**/{word(chance)}/{word(chance)}",
    "below": lambda chance: f"{word(chance)}/**",
    "between": lambda chance: f"{word(chance)}/**/{word(chance)}",
    "twice between": lambda chance: f"**/{word(chance)}/**/{word(chance)[:1]}*/**/{word(chance)}",
    "class": lambda chance: f"[{word(chance)}]{word(chance)}*",
    "question": lambda chance: f"{word(chance)}?{word(chance)[:1]}",
    "folder": lambda chance: f"{word(chance)}/",
    "upper": lambda chance: f"*{word(chance).upper()}",
}


def rules_of(chance: random.Random, count: int) -> list[str]:
    kinds = list(KINDS.values())
    return [
        ("!" if chance.random() < 0.3 else "") + chance.choice(kinds)(chance) for _ in range(count)
    ]


def last_words_of_git(folder: Path, paths: list[str]) -> dict[str, int]:
    """The line of the rule that decides, by path; 0 if none does."""
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"],  # noqa: S607 - part of the test
        cwd=folder,
        input="\0".join(paths).encode(),
        capture_output=True,
        check=False,
    )
    fields = done.stdout.decode().split("\0")
    return {fields[at + 3]: int(fields[at + 1] or 0) for at in range(0, len(fields) - 3, 4)}


@pytest.mark.parametrize("seed", range(4))
def test_of_many_rules_the_same_one_decides_as_in_git(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    rules = rules_of(chance, 400)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)  # noqa: S607
    fold_case = seed % 2 == 1
    with (tmp_path / ".git" / "config").open("a") as config:
        config.write(f"[core]\nignoreCase = {str(fold_case).lower()}\n")
    content = "\n".join(rules).encode()
    (tmp_path / ".gitignore").write_bytes(content)
    paths = [
        "/".join(
            word(chance) + chance.choice(["", f".{word(chance)}", word(chance).upper()])
            for _ in range(chance.randint(1, 4))
        )
        for _ in range(400)
    ]
    (rule_set,) = parse_ignore_file(content, ".gitignore", base=0, fold_case=fold_case)
    theirs = last_words_of_git(tmp_path, paths)
    compared = 0
    for path in paths:
        if any(last_word(rule_set, above, is_folder=True) for above in folders_above(path)):
            continue  # git answers for the folder then
        compared += 1
        assert last_word(rule_set, path, is_folder=False) == theirs[path], path
    assert compared > 20


def folders_above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def last_word(rule_set: IgnoreRuleSet, path: str, *, is_folder: bool) -> int:
    rule = rule_set.find_last_match(path.rpartition("/")[2], path, is_folder=is_folder)
    if is_folder:  # only what leaves it out matters
        return 0 if rule is None or rule.pattern.is_negated else rule.line
    return rule.line if rule else 0


WALK = """
import sys
from pathlib import Path
from codekernel.domain.concurrency import CancelToken
from codekernel.files.walk import FileWalker
print(sum(1 for _ in FileWalker(Path(sys.argv[1])).iterate_files(CancelToken())))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["suffix", "mixed", "double stars"])
def test_twenty_thousand_rules_and_three_hundred_files_are_soon_done(
    tmp_path: Path, kind: str
) -> None:
    chance = random.Random(kind)  # noqa: S311
    if kind == "mixed":
        rules = rules_of(chance, MANY)
    elif kind == "double stars":
        rules = [f"**/**/a*/**/a*/**/a*/**/a*a*a*a*a*{n}" for n in range(MANY)]
    else:
        rules = [f"{KINDS[kind](chance)}{n}" for n in range(MANY)]
    (tmp_path / ".git" / "objects").mkdir(parents=True)
    (tmp_path / ".git" / "refs").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / ".gitignore").write_text("\n".join(rules))
    for number in range(300):
        folder = tmp_path.joinpath(*["a" * (number % 9 + 1)] * (number % 12))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{'a' * 30}{number}.{word(chance)}").write_text("x\n")
    done = subprocess.run(
        [sys.executable, "-c", WALK, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    assert int(done.stdout) > 30


@pytest.mark.parametrize(
    "rule",
    [
        "**/" * 40 + "a*a*a*b",
        "**/a/" * 40 + "b",
        "a/**/" * 40 + "b",
        "**\\/a" * 40 + "/b",
        "*a" * 60 + "b",
        "a*/" * 40 + "b",
        "**/*a*/**/*a*/**/*a*/**/*a*/**/b",
    ],
)
def test_a_pattern_made_to_be_slow_is_not(rule: str) -> None:
    # Exponential before: this line would never be left.
    (rule_set,) = parse_ignore_file(rule.encode(), ".gitignore", base=0, fold_case=False)
    path = "/".join(["a"] * 500)
    for name in ("a" * 200, "a"):
        assert rule_set.find_last_match(name, f"{path}/{name}", is_folder=False) is None


@pytest.mark.parametrize(
    ("glob", "literal"),
    [("*.py", ".py"), ("a*bcd", "bcd"), ("[ab]xyz*", "xyz"), ("**/foo/b?r", "foo/b"), ("?", "")],
)
def test_the_longest_part_without_wildcards_is_known(glob: str, literal: str) -> None:
    pattern = parse_pattern(glob)
    assert pattern
    assert pattern.longest_literal == literal


def test_a_configuration_that_includes_itself_often_is_soon_read(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("[include]\n" + "\tpath = config\n" * 50 + "[core]\n\tignoreCase = true\n")
    assert read_git_settings(config)["core.ignorecase"] == "true"
