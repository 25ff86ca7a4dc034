"""The words of the field find the code: ask with one grep, as somebody new to it does."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "kernel" / "codekernel"
MODULES = sorted(PACKAGE.rglob("*.py"))
CHECKED = (*MODULES, *sorted((ROOT / "scripts").rglob("*.py")))
# A word in more files than this leads nowhere, unless a file is named after it.
MAX_FILES_WITH_WORD = 20
# Constants that should begin with MAX_ or MIN_.
ODD_LIMIT = re.compile(r"(?m)^_?(?:MOST|LONGEST|LARGEST|FEWEST|SHORTEST|SMALLEST|LEAST)_\w+")
CLASS = re.compile(r"(?m)^ *class ([A-Za-z]\w*)")
# A question, the word to search for (in any case), and the file with the answer.
QUESTIONS = (
    ("Which words of a query are ignored?", "stopwords", "search/query_parser.py"),
    ("Where is a query parsed?", "parse_query", "search/query_parser.py"),
    ("How are lexical and semantic results combined?", "hybrid", "search/pipeline.py"),
    ("How much do embeddings count in the score?", "semantic_weight", "search/ranking.py"),
    ("Which signals raise a result?", "boost", "search/boosts.py"),
    ("Where is BM25 computed?", "bm25", "storage/lexical_index.py"),
    ("How is the cosine similarity computed?", "cosine", "storage/vectors/in_memory_vectors.py"),
    ("How are vectors compressed?", "quantiz", "storage/vectors/in_memory_vectors.py"),
    ("How large is a chunk?", "chunk_size", "chunking/chunker.py"),
    ("How many texts are embedded at once?", "batch_size", "inference/model_folder.py"),
    ("How long are file events collected?", "debounce", "watching/watcher.py"),
    ("Where is .gitignore obeyed?", "gitignore", "files/skip_rules.py"),
    ("Which files are too large to index?", "max_file_bytes", "files/skip_rules.py"),
    ("Where are API keys masked?", "mask_secrets", "masking/masker.py"),
    ("Where are the keys encrypted?", "keyring", "storage/vault/vault_key.py"),
    ("When is a failed request repeated?", "backoff", "llm/http_request.py"),
    ("How much of a conversation fits?", "token_budget", "loop/loop.py"),
    ("How are citations checked?", "citation", "conversation/citations.py"),
    ("When is a shared model closed?", "refcount", "domain/concurrency.py"),
    ("Where do damaged files go?", "quarantine", "storage/quarantine.py"),
    ("Which model reads the best results again?", "rerank", "search/reranking.py"),
    ("Who has allowed what to be sent to a model?", "consent", "remote/consents.py"),
    ("What can results be narrowed down to?", "facet", "search/facets.py"),
)
# The answer is in a file named after the word, or in one of so many that have it most often.
MAX_RANK_BY_COUNT = 5


@pytest.mark.parametrize(("question", "word", "path"), QUESTIONS)
def test_one_search_for_the_usual_word_finds_the_file(question: str, word: str, path: str) -> None:
    counts = Counter(
        {
            file.relative_to(PACKAGE).as_posix(): count
            for file in MODULES
            if (count := file.read_text(encoding="utf-8").lower().count(word))
        }
    )
    assert path in counts, question
    first = [name for name, _ in counts.most_common(MAX_RANK_BY_COUNT)]
    is_named = word in path
    assert is_named or (path in first and len(counts) <= MAX_FILES_WITH_WORD), (question, counts)


def test_every_class_name_is_used_once() -> None:
    names = Counter(
        name for path in MODULES for name in CLASS.findall(path.read_text(encoding="utf-8"))
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_limits_are_called_max_and_min() -> None:
    assert [
        f"{path.relative_to(ROOT)}: {name}"
        for path in CHECKED
        for name in ODD_LIMIT.findall(path.read_text(encoding="utf-8"))
    ] == []
