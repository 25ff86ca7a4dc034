"""The table of a base: what its vector index finds, and that no row is left out of it."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from codekernel.storage.base import base_table
from codekernel.storage.base.base_rows import make_schema
from codekernel.storage.base.base_table import BaseTable, BaseTableWriter, TablePlace

ROWS, HITS, QUERIES = 4_000, 10, 20

pytestmark = pytest.mark.slow


def make_rows(dimensions: int) -> pa.RecordBatch:
    """Return rows of two repositories, in groups of near vectors as code has them."""
    random = np.random.default_rng(3)
    centres = random.standard_normal((ROWS // 20, dimensions))
    vectors = centres.repeat(20, axis=0) + 0.4 * random.standard_normal((ROWS, dimensions))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    schema = make_schema(dimensions)
    columns = {
        field.name: [
            f"{field.name}{row % 2}" if field.type == pa.string() else row for row in range(ROWS)
        ]
        for field in list(schema)[:-1]
    }
    arrays = [pa.array(columns[field.name], field.type) for field in list(schema)[:-1]]
    flat = pa.array(vectors.astype(np.float16).ravel())
    arrays.append(pa.FixedSizeListArray.from_arrays(flat, dimensions))
    return pa.record_batch(arrays, schema=schema)


@pytest.mark.parametrize("dimensions", [256, 100])
def test_the_vector_index_finds_what_exact_search_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dimensions: int
) -> None:
    """Of 100 dimensions bits do not fill bytes."""
    monkeypatch.setattr(base_table, "MIN_INDEXED_ROWS", 1_000)
    monkeypatch.setattr(base_table, "ROWS_PER_PARTITION", 128)
    place, rows = TablePlace(str(tmp_path)), make_rows(dimensions)
    writer = BaseTableWriter(place)
    writer.fill(rows.schema, iter([rows]))
    columns = writer.list_index_columns()
    assert "vector" in columns
    for column in columns:
        writer.build_index(column)
    writer.require_complete_indexes()
    writer.publish()
    table = BaseTable(place)
    places = np.arange(0, ROWS, ROWS // QUERIES)
    near = rows.column("vector").flatten().to_numpy(zero_copy_only=False).reshape(ROWS, -1)[places]
    moved = 0.05 * np.random.default_rng(4).standard_normal(near.shape)
    queries = (near + moved).astype(np.float32)
    for repos in ((), ("repo1",)):
        shares = []
        for query in queries:
            exact = {row["_rowid"]: row for row in table.search_exactly(query, repos, HITS)}
            found = table.search_vectors(query, repos, 20 * HITS)
            assert {row["repo"] for row in found} == set(repos or ("repo0", "repo1"))
            best = [row for row in found[:HITS] if row["_rowid"] in exact]
            shares.append(len(best) / HITS)
            for row in best:
                distance = exact[row["_rowid"]]["_distance"]
                assert row["_distance"] == pytest.approx(distance, abs=1e-5), "exact cosines"
        assert np.mean(shares) >= 0.95
