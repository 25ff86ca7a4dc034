"""A worker of fact_indexer.py that commits file by file and crashes on files with DEADLY."""

import os
import sys
from pathlib import Path

from codekernel.callgraph import fact_indexer
from codekernel.callgraph.fact_indexer import extract_file_facts
from codekernel.domain.call_graph import CallFacts
from codekernel.storage.catalog.call_store import StaleFile
from codekernel.storage.catalog.catalog import Catalog


def read_or_die(file: StaleFile, catalog: Catalog) -> tuple[StaleFile, CallFacts]:
    if "DEADLY" in catalog.read_document(file.id):
        os._exit(11)
    return extract_file_facts(file, catalog)


fact_indexer.extract_file_facts = read_or_die
fact_indexer.MAX_BATCH_SECONDS = 0.0
fact_indexer.run_worker(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
