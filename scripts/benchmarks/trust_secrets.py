"""Campaign ``secrets``: what leaves for a model has no secret in it, and loses nothing else.

Recall: values of every kind are drawn from the seed and written into every context of
``trust_secrets_contexts``. Each text passes the gate that every request to a chat model passes, and
must not have the value in it afterwards.

False positives: ``CODEKERNEL_TRUST_REPOSITORIES`` names a folder of repositories; their chunks are
masked and counted. What is masked there is named by file and kind in the notes, for a person to
judge: most of it are keys of tests, which are masked rightly. Without the variable this part is
left out, and a note says so.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from codekernel.domain.chat import ChatMessage, ChatRequest, Role
from codekernel.llm.remote_backend import mask_request
from codekernel.masking.masker import mask_secrets
from trust_result import CampaignResult
from trust_secrets_contexts import ASSIGNED, NEUTRAL, STRUCTURES
from trust_secrets_kinds import NAMED, SHAPED, draw
from trust_secrets_repositories import iterate_chunks

NAME = "secrets"
REPOSITORIES = "CODEKERNEL_TRUST_REPOSITORIES"
# What the issue asks for: of all kinds, each in every context.
MIN_SHARE_OF_KINDS = 0.97
# A kind that fails in more of its contexts than this is not masked, whatever the others are.
MAX_SHARE_OF_CONTEXTS = 0.1
# Rightly or wrongly: 239 of the 270,192 chunks of the benchmark's 32 repositories, 0.088 %.
MAX_SHARE_OF_CHUNKS = 0.001
STRUCTURE_VALUES = 20
SHOWN_PLACES = 30


@dataclass(frozen=True, slots=True)
class Case:
    """A secret of a kind in a context."""

    kind: str
    context: str
    secret: str
    text: str


def every_case(seed: int) -> Iterator[Case]:
    """Yield each kind in each of its contexts, with values drawn from the seed."""
    rng = random.Random(seed)  # noqa: S311 - invented keys that a seed repeats
    bare = {f"bare {name}": write for name, write in NEUTRAL.items()}
    for kind in (*SHAPED, *NAMED):
        for name, write in (ASSIGNED | (bare if kind.shaped else {})).items():
            value = draw(kind.shape, rng)
            yield Case(kind.name, name, value, write(kind, value))
    for structure in STRUCTURES:
        for number in range(STRUCTURE_VALUES):
            secret, text = structure.texts(rng)
            yield Case(structure.name, f"value {number}", secret, text)


def leaks(case: Case) -> bool:
    """Return whether the secret, as its context spells it, is still in what would be sent."""
    request = ChatRequest((ChatMessage(Role.USER, case.text),))
    return case.secret in mask_request(request).messages[0].content


def run(seed: int, tries: int | None) -> CampaignResult:
    """Mask every kind in every context, and the chunks of repositories where some are given."""
    asked, leaked, first = Counter[str](), Counter[str](), dict[str, Case]()
    for case in islice(every_case(seed), tries):
        asked[case.kind] += 1
        if leaks(case):
            leaked[case.kind] += 1
            first.setdefault(case.kind, case)
    failures = [
        f"seed {seed}: {kind} leaks in {leaked[kind]} of {asked[kind]} contexts,"
        f" first in {first[kind].context!r}"
        for kind in leaked
        if leaked[kind] > MAX_SHARE_OF_CONTEXTS * asked[kind]
    ]
    whole = sum(not leaked[kind] for kind in asked)
    if whole < MIN_SHARE_OF_KINDS * len(asked):
        failures.append(f"seed {seed}: only {whole} of {len(asked)} kinds are masked everywhere")
    summary = (
        f"{whole} of {len(asked)} kinds are masked in every context,"
        f" {asked.total() - leaked.total()} of {asked.total()} values;"
        f" leaking: {', '.join(f'{kind} {count}' for kind, count in leaked.items()) or 'none'}"
    )
    notes = [summary]
    chunks = 0
    folder = os.environ.get(REPOSITORIES)
    if folder:
        chunks, failure, said = _count_masked_chunks(Path(folder), seed, tries)
        notes += said
        failures += failure
    else:
        notes.append(f"false positives not measured: set {REPOSITORIES} to a folder of checkouts")
    return CampaignResult(NAME, asked.total() + chunks, tuple(failures), tuple(notes))


def _count_masked_chunks(
    folder: Path, seed: int, tries: int | None
) -> tuple[int, list[str], list[str]]:
    chunks = masked = 0
    places: list[str] = []
    for path, text in islice(iterate_chunks(folder), tries):
        chunks += 1
        safe = mask_secrets(text)
        if safe.count:
            masked += 1
            kind = safe.text.partition("[masked: ")[2].partition("]")[0]
            places.append(f"{path} ({kind})")
    share = masked / chunks if chunks else 0.0
    rng = random.Random(seed)  # noqa: S311 - a sample that a seed repeats
    shown = sorted(rng.sample(places, min(SHOWN_PLACES, len(places))))
    notes = [f"{masked} of {chunks} chunks masked, {share:.3%}; some of them: {', '.join(shown)}"]
    if chunks == 0:
        return 0, [f"{REPOSITORIES} has no text in it"], []
    failed = share > MAX_SHARE_OF_CHUNKS
    return chunks, [f"{share:.3%} of {chunks} chunks are masked"] if failed else [], notes
