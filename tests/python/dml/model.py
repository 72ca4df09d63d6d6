"""A table as a list of rows. Every statement runs on the list and on the table on disk, and the
tests check that both agree.

Every row has a unique `id`, which never changes. Start with `Twin`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Literal

import pyarrow as pa
import pytest

import lakebed as lb
import verbs
from dml import log
from dml.sql import Columns, Sql
from verbs import Effect, Row, Rows

#: Runs a statement that is given as SQL.
Run = Callable[[str], Any]

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("n", pa.int64()),
        ("k", pa.int32()),
        ("f", pa.float64()),
        ("m", pa.decimal128(12, 3)),
        ("b", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("p", pa.string()),
        ("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
    ]
)
#: The schema of the source of a merge. `fresh` is an id that no row has had before.
SOURCE_SCHEMA = pa.schema([pa.field("fresh", pa.int64()), *SCHEMA])
#: The columns that expressions may name.
COLUMNS: Columns = (
    ("id", "long"),
    ("n", "long"),
    ("k", "int"),
    ("f", "double"),
    ("m", "decimal"),
    ("b", "boolean"),
    ("day", "date"),
    ("at", "timestamp"),
    ("p", "string"),
    ("s.x", "int"),
    ("s.y", "string"),
)

FEED = "delta.enableChangeDataFeed"
VECTORS = "delta.enableDeletionVectors"
TRACKING = "delta.enableRowTracking"


def canonical(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the rows as sorted strings. A NaN is equal to itself, and -0.0 differs from 0.0."""
    return sorted(repr(_plain(row)) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        # Readers name the zone in different ways.
        return value.astimezone(timezone.utc).isoformat()
    return [(name, _plain(value[name])) for name in sorted(value)] if isinstance(value, Mapping) else value


@dataclass(frozen=True)
class Clause:
    """A clause of a merge. `values` is None if the clause takes all columns of the source under
    their own names.
    """

    when: Literal["matched", "not_matched", "not_matched_by_source"]
    action: Literal["update", "delete", "insert"]
    values: Mapping[str, Sql] | None
    where: Sql | None


@dataclass(frozen=True)
class Merge:
    """A merge. `on` and the values of the clauses are computed from a row of `target` and a row of
    `source`.
    """

    rows: Rows
    on: Sql
    clauses: list[Clause]

    @property
    def source(self) -> pa.Table:
        return pa.Table.from_pylist(self.rows, SOURCE_SCHEMA)

    def of(self, when: str) -> list[Clause]:
        return [clause for clause in self.clauses if clause.when == when]


@dataclass
class Before:
    """The state of a table before a statement."""

    #: The rows of each file.
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
    #: The expected change data feed: version, kind and row.
    feed: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    #: The row id of each row, and the version that last wrote the row.
    tracked: dict[int, tuple[int, int]] = field(default_factory=dict)
    version: int = 0
    #: The rows of each version.
    history: list[Rows] = field(default_factory=list)
    #: The highest row id that any row has had.
    high: int = -1
    #: Whether another engine wrote to the table. Another engine may leave files that no version
    #: names.
    is_foreign: bool = False

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

    # Statements. Each one changes the table and the model. `by` runs the statement as SQL in
    # another engine.

    def append(self, rows: Rows, by: Callable[[pa.Table], Any] | None = None, **options: Any) -> None:
        data = pa.Table.from_pylist(rows, SCHEMA)
        if by:
            by(data)
            self.is_foreign = True
        else:
            self.table.append(data, **options)
        self._commit(verbs.append(self.rows, rows))
        self.check()

    def delete(self, where: Sql | None, by: Run | None = None) -> None:
        before = self._before()
        effect = verbs.delete(self.rows, _holds(where))
        result = self._by(by, delete_text(self.path, where)) if by else self.table.delete(where.text if where else None)
        if self._is_nothing(result, effect, before):
            return
        self._commit(effect)
        if result:
            self._check_metrics(result, before, effect.touched)
            assert (result.metrics.deleted_rows, result.metrics.updated_rows) == (len(effect.deleted), 0)
        self.check(result and result.table)

    def update(self, values: Mapping[str, Sql], where: Sql | None, by: Run | None = None) -> None:
        before = self._before()
        effect = verbs.update(self.rows, _holds(where), lambda row: changed(row, values))
        if by:
            result = self._by(by, update_text(self.path, values, where))
        else:
            texts = {name: value.text for name, value in values.items()}
            result = self.table.update(texts, where=where.text if where else None)
        if self._is_nothing(result, effect, before):
            return
        self._commit(effect)
        if result:
            self._check_metrics(result, before, effect.touched)
            assert (result.metrics.deleted_rows, result.metrics.updated_rows) == (None, len(effect.updated))
        self.check(result and result.table)

    def merge(self, merge: Merge, by: Run | None = None) -> None:
        before = self._before()
        effect = merged(self.rows, merge)
        if effect is None:
            if by is None:
                with pytest.raises(lb.InvalidInputError, match="several source rows match one target row"):
                    merge_by_lakebed(self.table, merge)
                assert log.everything(self.path) == before.everything
            else:
                with pytest.raises(Exception, match="DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"):
                    self._by(by, merge_text(self.path, merge))
            return
        result = self._by(by, merge_text(self.path, merge)) if by else merge_by_lakebed(self.table, merge)
        if self._is_nothing(result, effect, before):
            return
        self._commit(effect)
        if result:
            self._check_metrics(result, before, effect.touched)
            metrics = result.metrics
            counts = (metrics.updated_rows, metrics.deleted_rows, metrics.inserted_rows, metrics.source_rows)
            assert counts == (len(effect.updated), len(effect.deleted), len(effect.inserted), len(merge.rows))
        self.check(result and result.table)

    def overwrite(self, rows: Rows, where: Sql) -> None:
        """Overwrites the rows that match `where`. All new rows match `where`."""
        before = self._before()
        effect = verbs.overwrite(self.rows, rows, _holds(where))
        result = self.table.overwrite(pa.Table.from_pylist(rows, SCHEMA), where=where.text)
        self._commit(effect)
        assert result.committed
        assert result.metrics.deleted_rows == len(effect.deleted)
        assert result.metrics.copied_rows == self._copied(before, effect.deleted)
        assert result.metrics.removed_files == self._removed(before, effect.deleted)
        self.check(result.table)

    def rearranged(self, commits: int) -> None:
        """Notes versions that changed no rows."""
        for _ in range(commits):
            self._commit(Effect(self.rows))

    # Checks after a statement.

    def _commit(self, effect: Effect) -> None:
        self.version += 1
        self.rows = effect.rows
        self.history.append(effect.rows)
        self.feed += [(self.version, kind, row) for kind, row in effect.feed]
        if self.properties.get(TRACKING):
            self._track({after["id"] for _, after in effect.updated})

    def _track(self, updated: set[int]) -> None:
        """Checks that old rows keep their row ids, and that new rows get row ids that no row has
        had. Notes the new row ids, which the table chose.
        """
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

    def _by(self, run: Run, text: str) -> None:
        run(text)
        self.is_foreign = True

    def _is_nothing(self, result: lb.ChangeResult | None, effect: Effect, before: Before) -> bool:
        """Returns whether the statement has nothing to change. Checks that the table is then
        unchanged.
        """
        if not effect.is_empty:
            assert result is None or result.committed
            return False
        assert self.table.version == self.version
        if result:
            metrics = result.metrics
            assert (metrics.deleted_rows or 0, metrics.updated_rows, metrics.copied_rows) == (0, 0, 0)
            assert (result.committed, result.version, result.table.version) == (False, self.version, self.version)
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
        """Checks the metrics of removed files, and of deleted rows in the files that stay."""
        metrics, hits = result.metrics, _hits(before, matched)
        assert metrics.copied_rows == self._copied(before, matched)
        assert metrics.removed_files == self._removed(before, matched)
        part = {name for name, (rows, hit) in hits.items() if 0 < hit < len(rows)} if self.notes_vectors else set()
        whole = {name for name, (_, hit) in hits.items() if hit} - part
        assert metrics.deletion_vectors_added == len(part - before.with_vectors)
        assert metrics.deletion_vectors_updated == len(part & before.with_vectors)
        assert metrics.deletion_vectors_removed == len(whole & before.with_vectors)
        done = log.effect(self.path, self.version)
        assert {add["path"] for add in done.gone} == whole
        assert len(done.changed) == len(part)
        assert (metrics.added_files, metrics.added_bytes) == (len(done.new), sum(add["size"] for add in done.new))
        assert metrics.removed_bytes == sum(add["size"] for add in done.gone)
        assert metrics.change_files == len(done.changes)
        # A checkpoint may still name files that the table no longer has. These files count as
        # skipped.
        seen = metrics.scanned_files + metrics.skipped_by_partition + metrics.skipped_by_statistics
        assert len(before.files) <= seen
        # A merge that reads its source in several parts may scan a file once for each part.
        most = len(before.files) * max(metrics.source_rows, 1)
        assert len(part | whole) <= metrics.scanned_files <= most

    def check(self, table: lb.Table | None = None) -> None:
        """Checks that the table has the rows of the model, that its log names each file in its
        folder, and that row ids and the change data feed are as expected.
        """
        for one in (table or self.table, self.table):
            assert one.version == self.version
            assert canonical(one.to_arrow().to_pylist()) == canonical(self.rows)
        assert self.table.count() == len(self.rows)
        if not self.is_foreign:
            assert log.files(self.path) == log.named(self.path, self.version)
        if self.properties.get(TRACKING):
            columns = ["id", "_metadata.row_id", "_metadata.row_commit_version"]
            found = [tuple(row.values()) for row in self.table.to_arrow(columns).to_pylist()]
            assert sorted(found) == sorted((one, *ids) for one, ids in self.tracked.items())
        if self.properties.get(FEED):
            assert changes(self.table, self.version) == self.expected_changes(self.version)

    def check_where(self, where: Sql) -> None:
        """Checks that a read with a predicate returns the matching rows. It skips files by their
        statistics.
        """
        expected = [row for row in self.rows if where.holds(row)]
        assert canonical(self.table.to_arrow(where=where.text).to_pylist()) == canonical(expected)
        assert self.table.scan(where=where.text).count() == len(expected)

    def check_past(self) -> None:
        """Checks that every version still has its rows, and that the change data feed has the
        changes of all versions.
        """
        for version, rows in enumerate(self.history):
            assert canonical(lb.Table(self.path, version=version).to_arrow().to_pylist()) == canonical(rows)
        if self.properties.get(FEED):
            assert changes(self.table, 0) == self.expected_changes(0)

    def expected_changes(self, start: int) -> Counter[str]:
        return Counter(_event(version, kind, row) for version, kind, row in self.feed if version >= start)


def delete_text(path: str, where: Sql | None) -> str:
    return f"DELETE FROM delta.`{path}`" + (f" WHERE {where.text}" if where else "")


def update_text(path: str, values: Mapping[str, Sql], where: Sql | None) -> str:
    sets = ", ".join(f"{name} = {value.text}" for name, value in values.items())
    return f"UPDATE delta.`{path}` SET {sets}" + (f" WHERE {where.text}" if where else "")


def merged(rows: Rows, merge: Merge) -> Effect | None:
    """Returns the effect of a merge, or None if the outcome of a row is ambiguous."""
    return verbs.merge(rows, merge.rows, lambda row, other: merge.on.holds(_pair(row, other)), map(_clause, merge.clauses))


def _clause(clause: Clause) -> verbs.Clause:
    def makes(target: Row | None, source: Row | None) -> Row:
        values = clause.values
        if target is not None:
            taken = source if values is None else None
            return {name: taken[name] for name in target} if taken else changed(target, values or {}, _pair(target, source))
        new = (source or {}) if values is None else {name: value.value(_pair(None, source)) for name, value in values.items()}
        return {name: new.get(name) for name in SCHEMA.names}

    where = clause.where
    holds = None if where is None else lambda target, source: where.holds(_pair(target, source))
    return verbs.Clause(clause.when, clause.action, makes, holds)


def _pair(target: Row | None, source: Row | None) -> Row:
    """Returns the row over which the expressions of a merge are computed."""
    return {name: row for name, row in (("target", target), ("source", source)) if row is not None}


def _holds(where: Sql | None) -> verbs.Holds:
    return (lambda _: True) if where is None else where.holds


def is_refused_by_spark(rows: Rows, merge: Merge) -> bool:
    """Returns whether a target row has several matches of which at most one has an effect, in a
    merge that has only clauses for matches. Delta Spark refuses such a merge because it counts all
    matches, unless the target row alone decides that no clause applies.
    """
    clauses = merge.of("matched")
    if len(clauses) < len(merge.clauses) or merged(rows, merge) is None:
        return False
    counts = [sum(merge.on.holds({"target": row, "source": other}) for other in merge.rows) for row in rows]
    is_delete = len(clauses) == 1 and clauses[0].action == "delete" and clauses[0].where is None
    return max(counts, default=0) > 1 and not is_delete


def merge_by_lakebed(table: lb.Table, merge: Merge) -> lb.ChangeResult:
    builder = table.merge(merge.source, on=merge.on.text)
    for clause in merge.clauses:
        where = clause.where.text if clause.where else None
        values: Any = "all" if clause.values is None else {name: value.text for name, value in clause.values.items()}
        if clause.action == "delete":
            builder = getattr(builder, f"when_{clause.when}_delete")(where=where)
        else:
            builder = getattr(builder, f"when_{clause.when}_{clause.action}")(values, where=where)
    return builder.execute()


def merge_text(path: str, merge: Merge) -> str:
    """Returns the merge as SQL. The source is a view with the name `source`."""
    text = f"MERGE INTO delta.`{path}` AS target USING source ON {merge.on.text}"
    for clause in merge.clauses:
        values = clause.values or {}
        if clause.action == "delete":
            action = "DELETE"
        elif clause.values is None:
            action = "UPDATE SET *" if clause.action == "update" else "INSERT *"
        elif clause.action == "update":
            action = "UPDATE SET " + ", ".join(f"{name} = {value.text}" for name, value in values.items())
        else:
            action = f"INSERT ({', '.join(values)}) VALUES ({', '.join(value.text for value in values.values())})"
        when = clause.when.replace("_", " ").upper()
        text += f" WHEN {when}{f' AND {clause.where.text}' if clause.where else ''} THEN {action}"
    return text


def _hits(before: Before, matched: Rows) -> dict[str, tuple[Rows, int]]:
    ids = {row["id"] for row in matched}
    return {name: (rows, sum(1 for row in rows if row["id"] in ids)) for name, rows in before.files.items()}


def _event(version: int, kind: str, row: Mapping[str, Any]) -> str:
    return f"{version} {kind} {canonical([row])[0]}"


def changes(table: lb.Table, start: int) -> Counter[str]:
    """Returns the change data feed up to the newest version, without timestamps."""
    return events(table.changes(start).to_arrow().drop_columns(["_commit_timestamp"]).to_pylist())


def events(found: Rows) -> Counter[str]:
    """Counts the rows of a change data feed."""
    return Counter(_event(row.pop("_commit_version"), row.pop("_change_type"), row) for row in found)


def changed(row: Mapping[str, Any], values: Mapping[str, Sql], over: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the row with new values, all computed from the old row. A null struct becomes a
    struct when one of its fields gets a value.
    """
    after = dict(row)
    for name, value in values.items():
        column, _, part = name.partition(".")
        new = value.value(over or row)
        after[column] = {**(after[column] or {"x": None, "y": None}), part: new} if part else new
    return after
