"""A generated source tree: many files in several languages, every function different.

A function is long enough that two do not share a chunk, so functions and chunks are as many.
"""

from collections.abc import Callable
from pathlib import Path

from codekernel.settings.local_models import build_default_embedding_configs
from scale_words import Vocabulary

SEED = 4
FILES_PER_FOLDER = 100
FOLDERS_PER_AREA = 40
# Of the input length: one function fits with its last line, two do not.
FUNCTION_CHARACTERS = int(0.75 * build_default_embedding_configs()[0].max_chunk_chars)
WORDS_PER_LINE = 6


def generate(root: Path, files: int, chunks: int) -> int:
    """Write the tree; returns its bytes."""
    vocabulary, written, made = Vocabulary(SEED), 0, 0
    for number in range(files):
        part = number // FILES_PER_FOLDER
        folder = root / f"area{part // FOLDERS_PER_AREA:03}" / f"part{part:04}"
        folder.mkdir(parents=True, exist_ok=True)
        suffix, function = LANGUAGES[number % len(LANGUAGES)]
        wanted = chunks * (number + 1) // files - made
        made += wanted
        text = "\n".join(function(vocabulary) for _ in range(wanted))
        name = "_".join(vocabulary.words(2))
        written += (folder / f"{name}_{number}{suffix}").write_bytes(text.encode())
    return written


def queries(count: int) -> list[str]:
    """Names, pairs of words and sentences, by turns, from the words of the tree."""
    vocabulary = Vocabulary(SEED + 1)
    found = []
    for number in range(count):
        words = vocabulary.words(4)
        kinds = (
            _camel([vocabulary.verb(), *words[:2]]),
            " ".join(words[:2]),
            f"how does it {vocabulary.verb()} the {words[0]} of a {words[1]}",
            f"{vocabulary.verb()}_{words[0]}_{words[1]}",
            f"where is the {words[0]} {words[1]} {vocabulary.verb()} before {words[2]} {words[3]}",
        )
        found.append(kinds[number % len(kinds)])
    return found


def _python(vocabulary: Vocabulary) -> str:
    name, first = _name(vocabulary), vocabulary.words(1)[0]
    head = f"def {'_'.join(name)}({first}, limit={vocabulary.number()}):\n"
    head += f'    """{_sentence(vocabulary)}"""\n'
    return _fill(vocabulary, head, "    {0} = self.{1}_{2}({3}, {4!r}, {n})  # {5}\n") + (
        f"    return {first}\n\n"
    )


def _javascript(vocabulary: Vocabulary) -> str:
    head = f"// {_sentence(vocabulary)}\nexport function {_camel(_name(vocabulary))}(options) {{\n"
    return _fill(vocabulary, head, "  const {0} = this.{1}.{2}({3}, '{4}', {n}); // {5}\n") + (
        "  return options;\n}\n\n"
    )


def _typescript(vocabulary: Vocabulary) -> str:
    kind = vocabulary.words(1)[0].title()
    head = f"/** {_sentence(vocabulary)} */\n"
    head += f"export function {_camel(_name(vocabulary))}(input: {kind}): {kind} {{\n"
    return _fill(vocabulary, head, "  const {0}: {1} = {2}.{3}('{4}', {n}); // {5}\n") + (
        "  return input;\n}\n\n"
    )


def _go(vocabulary: Vocabulary) -> str:
    head = f"// {_sentence(vocabulary)}\nfunc {_camel(_name(vocabulary)).title()}(in int) int {{\n"
    return _fill(vocabulary, head, '\t{0} := {1}.{2}({3}, "{4}", {n}) // {5}\n') + (
        "\treturn in\n}\n\n"
    )


def _rust(vocabulary: Vocabulary) -> str:
    head = (
        f"/// {_sentence(vocabulary)}\npub fn {'_'.join(_name(vocabulary))}(input: u64) -> u64 {{\n"
    )
    return _fill(vocabulary, head, '    let {0} = {1}::{2}(&{3}, "{4}", {n}); // {5}\n') + (
        "    input\n}\n\n"
    )


def _c(vocabulary: Vocabulary) -> str:
    head = f"/* {_sentence(vocabulary)} */\nint {'_'.join(_name(vocabulary))}(int input)\n{{\n"
    return _fill(vocabulary, head, '    int {0} = {1}_{2}({3}, "{4}", {n}); /* {5} */\n') + (
        "    return input;\n}\n\n"
    )


LANGUAGES: tuple[tuple[str, Callable[[Vocabulary], str]], ...] = (
    (".py", _python),
    (".js", _javascript),
    (".ts", _typescript),
    (".go", _go),
    (".rs", _rust),
    (".c", _c),
)


def _fill(vocabulary: Vocabulary, head: str, line: str) -> str:
    """The beginning of a function and as many lines as make it long enough."""
    lines, size = [head], len(head)
    while size < FUNCTION_CHARACTERS:
        added = line.format(*vocabulary.words(WORDS_PER_LINE), n=vocabulary.number())
        lines.append(added)
        size += len(added)
    return "".join(lines)


def _name(vocabulary: Vocabulary) -> list[str]:
    """A number keeps names apart: most words are drawn often."""
    return [vocabulary.verb(), *vocabulary.words(2), str(vocabulary.number())]


def _sentence(vocabulary: Vocabulary) -> str:
    first, *rest = vocabulary.words(9)
    return f"{vocabulary.verb().title()} the {first} of a {' '.join(rest)}."


def _camel(words: list[str]) -> str:
    return words[0] + "".join(word.title() for word in words[1:])
