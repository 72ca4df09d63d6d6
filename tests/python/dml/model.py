"""A table as a list of rows, changed statement by statement beside the one on the disk, and the proof that both agree in all that can be seen.

Every row has an `id` that is its own and never changes. Start with `Twin`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import lakebed as lb
from dml import log
from dml.sql import Kind, Sql

Rows = list[dict[str, Any]]

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("n", pa.int64()),
        ("k", pa.int32()),
        ("f", pa.float64()),
        ("b", pa.bool_()),
        ("p", pa.string()),
        ("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
    ]
)
#: What expressions may name.
COLUMNS: dict[str, Kind] = {
    "id": "long",
    "n": "long",
    "k": "int",
    "f": "double",
    "b": "boolean",
    "p": "string",
    "s.x": "int",
    "s.y": "string",
}

FEED = "delta.enableChangeDataFeed"
VECTORS = "delta.enableDeletionVectors"
TRACKING = "delta.enableRowTracking"


def canonical(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Rows without their order, as texts: a NaN is equal to itself, and -0.0 is not 0.0."""
    return sorted(repr(_plain(row)) for row in rows)


def _plain(value: Any) -> Any:
    return [(name, _plain(value[name])) for name in sorted(value)] if isinstance(value, Mapping) else value


@dataclass
class Before:
    """What a table was like before a statement."""

    #: The rows by the files that they are in.
    files: dict[str, Rows]
    #: The files with deletion vectors.
    with_vectors: set[str]
    everything: dict[str, int]


@dataclass
class Twin:
    """A table and its model."""

    path: str
    properties: dict[str, Any]
    partition_by: list[str]
    rows: Rows = field(default_factory=list)
    #: What happened to rows: the version, the kind, the row.
    feed: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    #: Of each row its id and the version that last wrote it.
    tracked: dict[int, tuple[int, int]] = field(default_factory=dict)
    version: int = 0
    #: The rows of each version.
    history: list[Rows] = field(default_factory=list)
    #: The highest number that was ever a row's.
    high: int = -1

    @classmethod
    def create(cls, path: str, properties: dict[str, Any], partition_by: list[str]) -> Twin:
        lb.create(path, SCHEMA, properties=properties, partition_by=partition_by)
        return cls(path, properties, partition_by, history=[[]])

    @property
    def table(self) -> lb.Table:
        return lb.Table(self.path)

    @property
    def notes_vectors(self) -> bool:
        return bool(self.properties.get(VECTORS))

    # Statements, each done to the table and to the model.

    def append(self, rows: Rows, **options: Any) -> None:
        self.table.append(pa.Table.from_pylist(rows, SCHEMA), **options)
        self._commit(self.rows + rows, [("insert", row) for row in rows])
        self.check()

    def delete(self, where: Sql | None) -> None:
        before = self._before()
        gone = [row for row in self.rows if where is None or where.holds(row)]
        stay = [row for row in self.rows if where is not None and not where.holds(row)]
        result = self.table.delete(where.text if where else None)
        if self._is_nothing(result, gone, before):
            return
        self._commit(stay, [("delete", row) for row in gone])
        self._check_metrics(result, before, gone)
        assert (result.metrics.deleted_rows, result.metrics.updated_rows) == (len(gone), 0)
        self.check(result.table)

    def update(self, values: Mapping[str, Sql], where: Sql | None) -> None:
        before = self._before()
        old = [row for row in self.rows if where is None or where.holds(row)]
        new = [changed(row, values) for row in old]
        result = self.table.update(
            {name: value.text for name, value in values.items()}, where=where.text if where else None
        )
        if self._is_nothing(result, old, before):
            return
        by_id = {row["id"]: row for row in new}
        happened = [("update_preimage", row) for row in old] + [("update_postimage", row) for row in new]
        self._commit([by_id.get(row["id"], row) for row in self.rows], happened)
        self._check_metrics(result, before, old)
        assert (result.metrics.deleted_rows, result.metrics.updated_rows) == (None, len(new))
        self.check(result.table)

    def overwrite(self, rows: Rows, where: Sql) -> None:
        """All rows are such that the condition is true for them."""
        before = self._before()
        gone = [row for row in self.rows if where.holds(row)]
        stay = [row for row in self.rows if not where.holds(row)]
        result = self.table.overwrite(pa.Table.from_pylist(rows, SCHEMA), where=where.text)
        self._commit(stay + rows, [("delete", row) for row in gone] + [("insert", row) for row in rows])
        assert result.committed
        assert result.metrics.deleted_rows == len(gone)
        assert result.metrics.copied_rows == self._copied(before, gone)
        assert result.metrics.removed_files == self._removed(before, gone)
        self.check(result.table)

    # What a statement must have done.

    def _commit(self, rows: Rows, happened: list[tuple[str, dict[str, Any]]]) -> None:
        self.version += 1
        self.rows = rows
        self.history.append(rows)
        self.feed += [(self.version, kind, row) for kind, row in happened]
        if self.properties.get(TRACKING):
            self._track({row["id"] for kind, row in happened if kind == "update_postimage"})

    def _track(self, updated: set[int]) -> None:
        """Old rows keep their ids. New ones get any that was nobody's: the table tells which."""
        columns = ["id", "_metadata.row_id"]
        found = self.table.to_arrow(columns).to_pylist()
        new = {row["id"]: row["_metadata.row_id"] for row in found if row["id"] not in self.tracked}
        assert len(set(new.values())) == len(new)
        assert all(row_id > self.high for row_id in new.values()), "an id is given twice"
        self.high = max([self.high, *new.values()])
        tracked = {}
        for row in self.rows:
            row_id, version = self.tracked.get(row["id"], (new.get(row["id"], -1), self.version))
            tracked[row["id"]] = (row_id, self.version if row["id"] in updated else version)
        self.tracked = tracked

    def _before(self) -> Before:
        files: dict[str, Rows] = {}
        by_id = {row["id"]: row for row in self.rows}
        for found in self.table.to_arrow(["id", "_metadata.file_path"]).to_pylist():
            files.setdefault(found["_metadata.file_path"], []).append(by_id[found["id"]])
        live = log.live(self.path, self.version)
        assert files.keys() <= live.keys()
        return Before(files, {name for name, add in live.items() if add.get("deletionVector")}, log.everything(self.path))

    def _is_nothing(self, result: lb.ChangeResult, matched: Rows, before: Before) -> bool:
        assert result.committed == bool(matched)
        if matched:
            return False
        metrics = result.metrics
        assert (metrics.deleted_rows or 0, metrics.updated_rows, metrics.copied_rows) == (0, 0, 0)
        assert (result.version, result.table.version, lb.Table(self.path).version) == (self.version,) * 3
        assert log.everything(self.path) == before.everything
        return True

    def _copied(self, before: Before, matched: Rows) -> int:
        if self.notes_vectors:
            return 0
        return sum(len(rows) - hit for rows, hit in _hits(before, matched).values() if hit)

    def _removed(self, before: Before, matched: Rows) -> int:
        hits = _hits(before, matched).values()
        return sum(1 for rows, hit in hits if (hit == len(rows) if self.notes_vectors else hit))

    def _check_metrics(self, result: lb.ChangeResult, before: Before, matched: Rows) -> None:
        """What leaves: whole files, and rows of others."""
        metrics, hits = result.metrics, _hits(before, matched)
        assert metrics.copied_rows == self._copied(before, matched)
        assert metrics.removed_files == self._removed(before, matched)
        part = {name for name, (rows, hit) in hits.items() if 0 < hit < len(rows)} if self.notes_vectors else set()
        whole = {name for name, (_, hit) in hits.items() if hit} - part
        assert metrics.vectors_added == len(part - before.with_vectors)
        assert metrics.vectors_updated == len(part & before.with_vectors)
        assert metrics.vectors_removed == len(whole & before.with_vectors)
        done = log.effect(self.path, self.version)
        assert {add["path"] for add in done.gone} == {log.live(self.path, self.version - 1)[name]["path"] for name in whole}
        assert len(done.changed) == len(part)
        assert (metrics.added_files, metrics.added_bytes) == (len(done.new), sum(add["size"] for add in done.new))
        assert metrics.removed_bytes == sum(add["size"] for add in done.gone)
        assert metrics.change_files == len(done.changes)
        assert metrics.scanned_files + metrics.skipped_by_partition + metrics.skipped_by_statistics <= len(before.files)

    def check(self, table: lb.Table | None = None) -> None:
        """The table is what the model is, its log names each file in its folder, and reading it by a condition finds what it should."""
        for one in (table or self.table, self.table):
            assert one.version == self.version
            assert canonical(one.to_arrow().to_pylist()) == canonical(self.rows)
        assert self.table.count() == len(self.rows)
        assert log.files(self.path) == log.named(self.path, self.version)
        if self.properties.get(TRACKING):
            columns = ["id", "_metadata.row_id", "_metadata.row_commit_version"]
            found = [tuple(row.values()) for row in self.table.to_arrow(columns).to_pylist()]
            assert sorted(found) == sorted((one, *ids) for one, ids in self.tracked.items())
        if self.properties.get(FEED):
            assert changes(self.table, self.version) == self.expected_changes(self.version)

    def check_where(self, where: Sql) -> None:
        """The statistics of all files agree with what is in them."""
        expected = [row for row in self.rows if where.holds(row)]
        assert canonical(self.table.to_arrow(where=where.text).to_pylist()) == canonical(expected)
        assert self.table.scan(where=where.text).count() == len(expected)

    def check_past(self) -> None:
        """Every version still has its rows, and the feed of all of them all changes."""
        for version, rows in enumerate(self.history):
            assert canonical(lb.Table(self.path, version=version).to_arrow().to_pylist()) == canonical(rows)
        if self.properties.get(FEED):
            assert changes(self.table, 0) == self.expected_changes(0)

    def expected_changes(self, start: int) -> Counter[str]:
        return Counter(_event(version, kind, row) for version, kind, row in self.feed if version >= start)


def _hits(before: Before, matched: Rows) -> dict[str, tuple[Rows, int]]:
    ids = {row["id"] for row in matched}
    return {name: (rows, sum(1 for row in rows if row["id"] in ids)) for name, rows in before.files.items()}


def _event(version: int, kind: str, row: Mapping[str, Any]) -> str:
    return f"{version} {kind} {canonical([row])[0]}"


def changes(table: lb.Table, start: int) -> Counter[str]:
    """The feed up to the newest version, without times."""
    found = table.changes(start).to_arrow().drop_columns(["_commit_timestamp"]).to_pylist()
    return Counter(_event(row.pop("_commit_version"), row.pop("_change_type"), row) for row in found)


def changed(row: Mapping[str, Any], values: Mapping[str, Sql]) -> dict[str, Any]:
    """The row with new values, all of them computed from what it was. A struct that was null is one when a field of it has a value."""
    after = dict(row)
    for name, value in values.items():
        column, _, part = name.partition(".")
        if part:
            after[column] = {**(after[column] or {"x": None, "y": None}), part: value.value(row)}
        else:
            after[column] = value.value(row)
    return after
