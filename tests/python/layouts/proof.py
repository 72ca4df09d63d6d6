"""Runs OPTIMIZE, and checks from the log and the files, without lakebed, that its metrics are right
and that no row changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import lakebed as lb
from corpus import canon
from dml import log

_IDS = ["_metadata.row_id", "_metadata.row_commit_version"]


def rows(path: str | Path) -> list[str]:
    """Returns all rows. In a table with row tracking they include the row ids and commit versions."""
    table = lb.Table(path)
    tracked = table.properties.get("delta.enableRowTracking") == "true"
    columns = [f"`{name}`" for name in table.schema.names] + (_IDS if tracked else [])
    return canon.rows(table.to_arrow(columns))


def optimize(path: str | Path, *, settles: bool = True, **options: Any) -> lb.OptimizeResult:
    """Optimizes, and checks everything that must hold after each OPTIMIZE. With `settles`, a second
    OPTIMIZE must have nothing to do.
    """
    before, version = rows(path), lb.Table(path).version
    live = log.live(path, version)
    planned = lb.Table(path).optimize(dry_run=True, **options)
    assert lb.Table(path).version == version
    result = lb.Table(path).optimize(**options)
    assert (result.version, result.table.version) == (version + result.commits, version + result.commits)
    assert rows(path) == before
    gone: list[dict[str, Any]] = []
    new: list[dict[str, Any]] = []
    for number in range(version + 1, result.version + 1):
        effect = log.effect(path, number)
        assert all(action["dataChange"] is False for kind in ("add", "remove") for action in log.actions(path, number, kind))
        assert not effect.changes
        assert not [kind for kind in ("metaData", "protocol", "txn") if log.actions(path, number, kind)]
        gone += effect.gone
        new += effect.new
        _check_history(result.table.history()[result.version - number], effect)
        for add in effect.new:
            # The partition values keep their spelling, and the statistics agree with the file.
            assert add["partitionValues"] in [other["partitionValues"] for other in effect.gone]
            check_statistics(path, add)
    paths = sorted(name for group in planned for name in group.paths)
    assert paths == sorted(add["path"] for add in gone)
    metrics = result.metrics
    assert metrics.groups == len(planned)
    assert sum(group.size_bytes for group in planned) == metrics.removed_bytes
    sizes = sorted(add["size"] for add in new)
    assert (metrics.added_files, metrics.added_bytes) == (len(sizes), sum(sizes))
    assert (metrics.removed_files, metrics.removed_bytes) == (len(gone), sum(add["size"] for add in gone))
    assert metrics.deletion_vectors_removed == sum("deletionVector" in add for add in gone)
    assert metrics.rows == sum(json.loads(add["stats"])["numRecords"] for add in new)
    assert metrics.file_sizes == (quartiles(sizes) if sizes else None)
    assert metrics.lost_groups == metrics.conflicts == 0
    now = log.live(path, result.version)
    assert now.keys() == (live.keys() - {add["path"] for add in gone}) | {add["path"] for add in new}
    if settles:
        everything = log.everything(path)
        again = {**options, "full": False}
        assert lb.Table(path).optimize(dry_run=True, **again) == ()
        assert lb.Table(path).optimize(**again).commits == 0
        assert log.everything(path) == everything
    return result


def quartiles(sizes: list[int]) -> tuple[int, ...]:
    """Returns the quartiles of sorted sizes, counted as in Delta Spark."""
    count = len(sizes)
    return (sizes[0], sizes[count // 4], sizes[count // 2], sizes[count * 3 // 4], sizes[-1])


def _check_history(entry: lb.HistoryEntry, effect: log.Effect) -> None:
    sizes = sorted(add["size"] for add in effect.new)
    names = ["minFileSize", "p25FileSize", "p50FileSize", "p75FileSize", "maxFileSize"]
    assert entry.operation == "OPTIMIZE"
    assert entry.is_blind_append is False
    counts = {
        "numRemovedFiles": len(effect.gone),
        "numRemovedBytes": sum(add["size"] for add in effect.gone),
        "numAddedFiles": len(sizes),
        "numAddedBytes": sum(sizes),
        "numDeletionVectorsRemoved": sum("deletionVector" in add for add in effect.gone),
        **dict(zip(names, quartiles(sizes) if sizes else (0,) * 5, strict=True)),
    }
    assert entry.metrics == {name: str(count) for name, count in counts.items()}


def check_statistics(path: str | Path, add: dict[str, Any]) -> None:
    """Checks that the statistics in the log agree with the rows of a file without a deletion
    vector.
    """
    file = Path(path) / unquote(add["path"])
    data = pq.ParquetFile(file).read()
    stats = json.loads(add["stats"])
    assert "deletionVector" not in add
    assert (add["size"], stats["numRecords"]) == (file.stat().st_size, data.num_rows)
    assert stats.get("tightBounds", True)
    told = dict(_leaves(stats.get("nullCount", {})))
    for name, column in columns(data):
        if name not in told:
            continue
        assert told[name] == column.null_count, name
        if pa.types.is_integer(column.type) and column.null_count < len(column):
            bounds = pc.min_max(column).as_py()
            assert (bounds["min"], bounds["max"]) == tuple(dict(_leaves(stats[key]))[name] for key in ("minValues", "maxValues"))


def columns(data: pa.Table) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Returns columns and fields of structs by their paths. A field of a null struct is null."""
    todo = [((name,), data[name].combine_chunks()) for name in data.column_names]
    while todo:
        name, column = todo.pop()
        if pa.types.is_struct(column.type):
            parts = zip(column.type.names, column.flatten(), strict=True)
            todo += [((*name, part), values) for part, values in parts]
        else:
            yield name, column


def _leaves(stats: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in stats.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*above, name))
        else:
            yield (*above, name), value
