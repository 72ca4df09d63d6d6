"""Overwrites with a predicate beside other writers. Each overwrite comes before or after each of
their commits, and none is refused.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed as lb

WRITERS, ROUNDS = 4, 8

_start: Any = None


def _prepare(start: Any) -> None:
    global _start
    _start = start


def _replace(path: str, number: int) -> list[str]:
    """Overwrites the row of one id again and again."""
    return _tell(lambda round: lb.write(path, pa.table({"id": [number], "v": [round]}), mode="overwrite", where=f"id = {number}"))


def _merge(path: str, number: int) -> list[str]:
    """Merges rows that no overwrite selects. The statistics of their files have bounds that include
    the overwritten rows.
    """
    source = pa.table({"id": [-1 - number, 1000 + number], "v": [0, 0]})
    return _tell(lambda _: lb.Table(path).upsert(source, keys=["id"]))


def _tell(work: Callable[[int], object]) -> list[str]:
    refused = []
    _start.wait()
    for round in range(ROUNDS):
        try:
            work(round)
        except lb.LakebedError as error:
            refused.append(f"{type(error).__name__}: {error}")
    return refused


@pytest.mark.parametrize("vectors", [False, True])
def test_replacements_beside_merges_all_succeed(tmp_path: Path, vectors: bool) -> None:
    path = str(tmp_path / "t")
    rows = pa.table({"id": list(range(WRITERS)), "v": [-1] * WRITERS})
    lb.write(path, rows, properties={"delta.enableDeletionVectors": vectors})
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2 * WRITERS, context, _prepare, (context.Barrier(2 * WRITERS),)) as pool:
        answers = [pool.submit(work, path, number) for work in (_replace, _merge) for number in range(WRITERS)]
        refused = [word for answer in answers for word in answer.result()]
    assert refused == []
    found = lb.Table(path).to_arrow().sort_by("id").to_pylist()
    merged = [-1 - number for number in range(WRITERS)], [1000 + number for number in range(WRITERS)]
    expected = [(number, ROUNDS - 1) for number in range(WRITERS)] + [(number, 0) for side in merged for number in side]
    assert [tuple(row.values()) for row in found] == sorted(expected)


def test_later_replacement_of_same_rows_wins(tmp_path: Path) -> None:
    """The second overwrite is committed after a version with the rows of the first one. It had not
    seen that version when it began.
    """
    path = str(tmp_path / "t")
    lb.write(path, pa.table({"id": [1, 2], "v": [0, 0]}))

    def batches() -> Any:
        # Before this overwrite commits, another one replaces the same rows and adds another such
        # row.
        lb.write(path, pa.table({"id": [1, 1], "v": [1, 1]}), mode="overwrite", where="id = 1")
        yield pa.record_batch({"id": [1], "v": [2]})

    schema = pa.schema([("id", pa.int64()), ("v", pa.int64())])
    result = lb.write(path, pa.RecordBatchReader.from_batches(schema, batches()), mode="overwrite", where="id = 1")
    assert (result.version, result.metrics.deleted_rows, result.metrics.conflicts) == (2, 2, 1)
    assert sorted(tuple(row.values()) for row in lb.Table(path).to_arrow().to_pylist()) == [(1, 2), (2, 0)]
