"""Reads facts as ``callgraph/filling_child.py`` does, each file a batch; dies on one with DEADLY."""

import os
import sys
from pathlib import Path

from kernel.callgraph import filling_child
from kernel.callgraph.extracting import facts_of
from kernel.domain.call_facts import CallFacts


def facts_or_death(text: str, language: str) -> CallFacts:
    if "DEADLY" in text:
        os._exit(11)
    return facts_of(text, language)


filling_child.facts_of = facts_or_death
filling_child.BATCH_SECONDS = 0.0
filling_child.main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
