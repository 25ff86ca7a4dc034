"""The vocabulary of the generated tree: words as common as in code, and names rare enough to find.

A few words are everywhere and most are rare, as in any text: the place of a word in the list,
to the power of -1, is how often it is drawn. Rare names are made of syllables.
"""

import itertools
import random

COMMON = """
value name key index count size path file data type node list item result error message request
response handler config option user token buffer stream cache state event queue task worker thread
lock session client server socket packet header body field column table row query filter cursor
schema record entry batch chunk block page offset length limit total width height color style image
pixel frame layer canvas shape point vector matrix angle scale time date clock timer delay interval
schedule calendar zone locale format parser lexer symbol scope module package import export version
release branch commit merge patch diff tree graph edge vertex route path weight cost price invoice
order payment account balance ledger currency tax discount customer address region country phone
email profile avatar role permission policy secret digest cipher signature certificate nonce salt
upload download archive folder volume disk memory register stack heap pointer address segment bucket
shard replica leader follower quorum epoch snapshot journal checkpoint recovery backup restore probe
metric gauge counter histogram sample trace span logger level report alert threshold budget quota
"""
SYLLABLES = "bra cor dan el fin gor hal ist jun kel lor mer nov or pel quin ral sto tur vin wex yar"
RARE_NAMES = 8000
VERBS = """
get set load save read write open close find make build parse render merge split check apply send
receive update remove insert resolve encode decode validate compute collect flush schedule notify
"""


class Vocabulary:
    """Draws words; the same seed draws the same."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - not for secrets
        parts = SYLLABLES.split()
        rare = ["".join(three) for three in itertools.product(parts, repeat=3)]
        random.Random(0).shuffle(rare)  # noqa: S311 - the same names for every seed
        self._verbs = VERBS.split()
        self._words = [*dict.fromkeys(COMMON.split()), *rare[:RARE_NAMES]]
        weights = [1 / place for place in range(1, len(self._words) + 1)]
        self._weights = list(itertools.accumulate(weights))

    def words(self, count: int) -> list[str]:
        """Some words."""
        return self._random.choices(self._words, cum_weights=self._weights, k=count)

    def verb(self) -> str:
        """What a function does."""
        return self._random.choice(self._verbs)

    def number(self) -> int:
        """A constant."""
        return self._random.randrange(1, 100_000)
